#pragma once

#include <cstdint>

namespace shardline {

/// How partial results of ranks combine: `{U_X}` owes a sum, `{Max_X}` a maximum. An average, which collectives give,
/// is a sum divided once by the number of ranks; no sharding owes it.
enum class ReduceOp : std::uint8_t { sum, max, avg };

/// "sum", "max", "avg"
constexpr const char* name_of(ReduceOp op) { return op == ReduceOp::sum ? "sum" : op == ReduceOp::max ? "max" : "avg"; }

}  // namespace shardline
