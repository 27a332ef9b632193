#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/model_types.h"

namespace shardline {

/// Reads the keys of one `config.json`. Every message names the file and the key.
class ConfigReader {
 public:
  /// Messages offer `legal_types` for an unknown model_type. Throws UsageError, one line, for text that is not one JSON
  /// object, and for a model_type that is missing or unknown. So do the members below for values that they refuse.
  ConfigReader(std::string_view text, std::string_view name, const std::string& legal_types);

  const std::string& name() const { return name_; }
  const nlohmann::json& object() const { return object_; }
  const ModelType& type() const { return type_; }
  /// Missing sizes with their defaults: "hidden_size 4096".
  const std::vector<std::string>& missing() const { return missing_; }

  bool is_missing(const char* key) const { return !object_.contains(key); }
  bool is_null(const char* key) const { return object_.contains(key) && object_.at(key).is_null(); }
  /// The key exists and is not null.
  bool has(const char* key) const { return object_.contains(key) && !object_.at(key).is_null(); }

  [[noreturn]] void refuse(std::string_view key, const nlohmann::json& value, std::string_view legal) const;

  /// A size; `missing` if there is no key.
  Index size(const char* key, Index missing) const;
  /// The same; also notes a missing key.
  Index noted_size(const char* key, Index missing);
  /// A number from the smallest normal f32 to `most`; `missing` if `object` does not have the key.
  double positive(const nlohmann::json& object, const char* key, double missing, double most) const;
  /// A number from `least` to `most`; `missing` if there is no key.
  double number(const char* key, double missing, double least, double most) const;
  bool flag(const char* key, bool missing) const;

 private:
  const ModelType& find_type(const std::string& legal) const;

  std::string name_;
  nlohmann::json object_;
  const ModelType& type_;
  std::vector<std::string> missing_;
};

/// A key that changes the mathematics in a way that is not implemented.
struct ConfigDifference {
  std::string key;  ///< with the objects around it: rope_parameters.factor
  nlohmann::json value = {};
  std::string legal;
  bool unknown = false;  ///< nobody knows whether it changes anything
};

}  // namespace shardline
