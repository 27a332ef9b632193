#pragma once

#include <cstdint>

namespace shardline {

/// How partial results owed by ranks combine: `{U_X}` owes a sum, `{Max_X}` a maximum.
enum class ReduceOp : std::uint8_t { sum, max };

}  // namespace shardline
