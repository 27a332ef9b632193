#pragma once

#include <cstdint>
#include <string_view>

namespace shardline {

/// FNV-1a of 64 bits: enough to see that two texts differ, no protection against anybody who wants them to agree.
std::uint64_t hash_of(std::string_view text);

}  // namespace shardline
