#pragma once

#include <cstdint>

namespace shardline {

/// How the partial results of ranks combine. `{U_X}` owes a sum, `{Max_X}` a maximum. Collectives
/// also give an average: the sum, divided once by the number of ranks. No sharding owes an average.
enum class ReduceOp : std::uint8_t { sum, max, avg };

/// "sum", "max", "avg"
constexpr const char* name_of(ReduceOp op) { return op == ReduceOp::sum ? "sum" : op == ReduceOp::max ? "max" : "avg"; }

}  // namespace shardline
