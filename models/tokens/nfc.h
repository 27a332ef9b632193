#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokens/offset_map.h"

namespace shardline {

/// Unicode's normalization form C, by utf8proc: letters and their accents become one character where there is one.
class Nfc {
 public:
  /// `valid_text` (valid UTF-8) in form C. The view is of `valid_text` itself, or of memory that the next call uses
  /// again. `places`, unless null, gets the parts that changed. Cut anywhere else, both sides of a text in form C are
  /// the forms C of both sides.
  std::string_view normalized(std::string_view valid_text, OffsetMap* places = nullptr);
  /// The bytes of the longest start of a text whose form C no more text changes: it ends before a character that
  /// changes nothing before it.
  static std::size_t certain_start(std::string_view valid_start);

 private:
  void append_normalized(std::string_view run);

  std::string text_;
  std::vector<std::int32_t> code_points_;
};

}  // namespace shardline
