#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace shardline {

/// How byte-level vocabularies write bytes: each of the 256 is one visible character. Printable bytes of Latin-1
/// stand for themselves; the others, in order, are the characters from U+0100 on. So a space is U+0120.
/// The characters are in UTF-8.
const std::array<std::string, 256>& byte_characters();

/// The bytes of a token that is written in these characters. Empty if one of its characters is none of them.
std::optional<std::string> bytes_of_characters(std::string_view written);

}  // namespace shardline
