#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardline {

/// Unicode's normalization form C, by utf8proc: letters and their accents become one character where there is one.
class Nfc {
 public:
  /// `valid_text` (valid UTF-8) in form C. The view is of `valid_text` itself, or of memory that the next call uses
  /// again.
  std::string_view normalized(std::string_view valid_text);

 private:
  void append_normalized(std::string_view run);

  std::string text_;
  std::vector<std::int32_t> code_points_;
};

}  // namespace shardline
