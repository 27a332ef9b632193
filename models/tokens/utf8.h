#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "models/tokens/offset_map.h"

namespace shardline {

/// The bytes of a character at the start of a text.
struct Utf8Step {
  std::size_t length = 0;  ///< if broken: the bytes that one U+FFFD replaces
  bool valid = false;
};

/// The first character of `text`, which is not empty. Broken UTF-8 is cut as the Unicode standard advises: the
/// longest start of a legal character is one error, and any other byte is one error.
Utf8Step first_character(std::string_view text);

/// The bytes of the character that ends at `end` > 0 of a valid text.
std::size_t length_of_character_before(std::string_view valid_text, std::size_t end);

/// `text` itself if it is valid UTF-8. Otherwise a view of `repaired`: the text with U+FFFD for each error, as
/// Python's decode("utf-8", "replace"), a TextDecoder of JavaScript and Rust's from_utf8_lossy give it.
/// `places`, unless null, gets the errors.
std::string_view valid_utf8(std::string_view text, std::string& repaired, OffsetMap* places = nullptr);

/// The bytes of `text` without those at its end that may be the first of a character.
std::size_t without_part_of_character(std::string_view text);

}  // namespace shardline
