#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::roofline {

/// One value of a JSON file and the keys that lead to it: reading it checks it. Every refusal is a UsageError of one
/// line, "FILE: KEYS is VALUE: what is legal".
class FileValue {
 public:
  /// The whole of a file. Throws UsageError when it is no JSON, or an object has a key twice or a number too large for
  /// a double.
  static FileValue parse(const std::string& text, const std::string& file);

  /// What stands under a key of this object; throws UsageError when it is missing.
  FileValue operator[](const std::string& key) const;
  /// Likewise, but for a key that may be missing.
  std::optional<FileValue> find(const std::string& key) const;
  /// Keys and values of this object; at least one.
  std::vector<std::pair<std::string, FileValue>> members() const;
  /// Throws UsageError that names a key of this object which is none of `legal`, and those nearest to it.
  void allow_only(const std::vector<std::string>& legal) const;
  /// The values of this array; at least one.
  std::vector<FileValue> items() const;

  std::string text() const;  ///< not empty
  double positive() const;
  double at_least_zero() const;
  double share() const;                        ///< from 0 to 1
  Index whole(Index least, Index most) const;  ///< `least` at least 0
  bool is_null() const { return value_->is_null(); }

  /// The one of `values` whose name_of() this is.
  template <class Values>
  auto one_of(const Values& values) const {
    std::vector<std::string> names;
    for (const auto& value : values) {
      if (value_->is_string() && value_->get_ref<const std::string&>() == name_of(value)) return value;
      names.emplace_back(name_of(value));
    }
    refuse(one_of_text(names));
  }

  /// "one of network, node"
  static std::string one_of_text(const std::vector<std::string>& names);
  /// Throws UsageError: this value and what would be legal.
  [[noreturn]] void refuse(const std::string& legal) const;
  /// Throws UsageError: whose key this is, and what is wrong with it.
  [[noreturn]] void complain(const std::string& fault) const;

 private:
  using Json = nlohmann::json;
  struct File {
    std::string name;
    Json root;
  };

  FileValue(std::shared_ptr<const File> file, const Json* value, std::string keys)
      : file_(std::move(file)), value_(value), keys_(std::move(keys)) {}
  FileValue under(const std::string& key, const Json& value) const;
  void expect_object() const;
  double number(const char* legal) const;

  std::shared_ptr<const File> file_;
  const Json* value_;
  std::string keys_;  ///< "resources.node.latency_s", "memory.caches[2].bytes"; empty for the whole
};

}  // namespace shardline::roofline
