#include "models/tokens/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "models/tokens/utf8.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// The first byte of U+0300. All characters before it are in form C already, and none of them joins the character
/// before it.
constexpr unsigned char kFirstCombining = 0xCC;

bool starts_plain(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < 0x80 || (value >= 0xC0 && value < kFirstCombining);
}

bool starts_other(char byte) { return static_cast<unsigned char>(byte) >= kFirstCombining; }

}  // namespace

std::size_t Nfc::certain_start(std::string_view valid_start) {
  const auto found = std::find_if(valid_start.rbegin(), valid_start.rend(), starts_plain);
  return found == valid_start.rend() ? 0 : static_cast<std::size_t>(valid_start.rend() - found) - 1;
}

std::string_view Nfc::normalized(std::string_view valid_text, OffsetMap* places) {
  if (places != nullptr) places->clear();
  const auto* end = valid_text.end();
  const auto* run = std::find_if(valid_text.begin(), end, starts_other);
  if (run == end) return valid_text;
  text_.clear();
  const auto* done = valid_text.begin();
  while (run != end) {
    // The run takes the character before it along: an accent may join it.
    const auto offset = static_cast<std::size_t>(run - valid_text.begin());
    const auto* start = run == done ? run : run - length_of_character_before(valid_text, offset);
    const auto* stop = std::find_if(run, end, starts_plain);
    text_.append(done, start);
    const std::string_view before(start, static_cast<std::size_t>(stop - start));
    const std::size_t place = text_.size();
    append_normalized(before);
    const std::string_view after = std::string_view(text_).substr(place);
    if (places != nullptr && after != before) {
      const auto from = static_cast<std::size_t>(start - valid_text.begin());
      places->add({{from, from + before.size()}, {place, text_.size()}});
    }
    done = stop;
    run = std::find_if(stop, end, starts_other);
  }
  text_.append(done, end);
  return text_;
}

void Nfc::append_normalized(std::string_view run) {
  constexpr auto kFormC = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(run.data());
  const auto size = static_cast<utf8proc_ssize_t>(run.size());
  const auto room = [&] { return static_cast<utf8proc_ssize_t>(code_points_.size()); };
  utf8proc_ssize_t count = utf8proc_decompose(bytes, size, code_points_.data(), room(), kFormC);
  if (count > room()) {
    code_points_.resize(static_cast<std::size_t>(count));
    count = utf8proc_decompose(bytes, size, code_points_.data(), room(), kFormC);
  }
  if (count >= 0) count = utf8proc_normalize_utf32(code_points_.data(), count, kFormC);
  SHARDLINE_CHECK(count >= 0, "utf8proc: {}", utf8proc_errmsg(count));
  std::array<utf8proc_uint8_t, 4> character{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const utf8proc_ssize_t length = utf8proc_encode_char(code_points_[i], character.data());
    text_.append(reinterpret_cast<const char*>(character.data()), static_cast<std::size_t>(length));
  }
}

}  // namespace shardline
