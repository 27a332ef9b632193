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

/// One value of a JSON file and the keys that lead to it. Every read checks the value. Every refusal is a
/// UsageError of one line, "FILE: KEYS is VALUE: the legal values".
class FileValue {
 public:
  /// The root of a file. Throws UsageError if it is not JSON, an object has a key twice, or a number is too
  /// large for a double.
  static FileValue parse(const std::string& text, const std::string& file);

  /// The value of a key of this object. Throws UsageError if it is missing.
  FileValue operator[](const std::string& key) const;
  /// The same for a key that may be missing.
  std::optional<FileValue> find(const std::string& key) const;
  /// Keys and values of this object. Throws UsageError if it is empty.
  std::vector<std::pair<std::string, FileValue>> members() const;
  /// Throws UsageError if this object has a key outside `legal`. The message names it and the nearest legal
  /// keys.
  void allow_only(const std::vector<std::string>& legal) const;
  /// The values of this array. Throws UsageError if it is empty.
  std::vector<FileValue> items() const;

  std::string text() const;  ///< not empty
  double positive() const;
  double at_least_zero() const;
  double share() const;                        ///< from 0 to 1
  Index whole(Index least, Index most) const;  ///< `least` at least 0
  bool is_null() const { return value_->is_null(); }

  /// The element of `values` whose name_of() is this text.
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
  /// Throws UsageError with this value and the legal values.
  [[noreturn]] void refuse(const std::string& legal) const;
  /// Throws UsageError with the keys of this value and the fault.
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
  std::string keys_;  ///< "resources.node.latency_s", "memory.caches[2].bytes"; empty for the root
};

}  // namespace shardline::roofline
