#pragma once

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::kernels {

/// The cost of one kernel call: floating-point operations, and the bytes of its operands and
/// results. Each byte counts once: the least possible memory traffic.
struct Cost {
  Flops flops;
  Bytes bytes;
  double parts = 1;  ///< loops that the call starts one after the other, such as the heads of attention
  /// Rows that meet each element of what a call mostly reads: those of a product with a matrix, or the queries of each
  /// key and value of a cache. 0 for calls whose price does not go by that.
  Index rows = 0;
};

}  // namespace shardline::kernels
