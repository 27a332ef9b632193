#pragma once

#include <cstdint>
#include <string_view>

namespace shardline {

/// FNV-1a of 64 bits. It shows that two texts differ. It is no protection against an attacker.
std::uint64_t hash_of(std::string_view text);

}  // namespace shardline
