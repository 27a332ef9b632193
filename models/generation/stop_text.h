#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardline {

/// Watches a text for strings that end it, as the bytes of the text come, and gives out what is before them. What it
/// gives out does not depend on how the text is cut into pieces.
class StopText {
 public:
  /// `stops` may be none. Throws UsageError if one is empty.
  explicit StopText(std::vector<std::string> stops);

  /// Takes the next bytes. Returns the text that may be shown now: bytes wait while they may belong to a stop string or
  /// to a character of UTF-8 that is not whole. Once a stop string has appeared, the text before it is returned, and
  /// after that nothing.
  std::string add(std::string_view bytes);
  /// Ends the text. Returns what waited; nothing if a stop string has appeared.
  std::string end();

  /// The place in `stops` of the string that has appeared. Of several it is the one whose last byte came first; if that
  /// is the last byte of several, the longest.
  std::optional<std::size_t> stopped_by() const { return stopped_by_; }

 private:
  std::optional<std::size_t> stop_that_ends_at(std::size_t end) const;
  std::size_t start_of_stop() const;

  std::vector<std::string> stops_;
  std::string held_;  ///< bytes that wait
  std::optional<std::size_t> stopped_by_;
};

}  // namespace shardline
