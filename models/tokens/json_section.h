#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace shardline {

/// An object within a `tokenizer.json` that knows where it stands. Every message has the path of the file and the name
/// of the object: "t.json: model: ...".
class JsonSection {
 public:
  JsonSection(const nlohmann::json& object, std::string path, std::string name);

  const std::string& name() const { return name_; }
  /// Throws UsageError: the file, the object, and `problem`.
  [[noreturn]] void fail(const std::string& problem) const;

  /// Refuses every key that is not in the list.
  void allow_only(std::initializer_list<std::string_view> keys) const;
  /// The value of `type`.
  std::string type() const { return text("type"); }

  /// False if the key is missing or null.
  bool has(std::string_view key) const;
  /// Values that must be there.
  const nlohmann::json& value(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::int32_t id(std::string_view key) const;
  bool flag(std::string_view key) const;
  /// A flag that may be missing.
  bool flag(std::string_view key, bool otherwise) const { return has(key) ? flag(key) : otherwise; }
  JsonSection section(std::string_view key) const;
  /// The objects of an array, named by their positions from 0.
  std::vector<JsonSection> sections(std::string_view key) const;

 private:
  const nlohmann::json& object_;
  std::string path_;
  std::string name_;
};

/// The largest id that a token may have.
inline constexpr std::int32_t kMostTokenId = (1 << 24) - 1;

}  // namespace shardline
