#pragma once

#include "runtime/base/units.h"

namespace shardline::kernels {

/// The cost of one kernel call: floating-point operations, and the bytes of its operands and
/// results. Each byte counts once: the least possible memory traffic.
struct Cost {
  Flops flops;
  Bytes bytes;
  double parts = 1;  ///< loops that the call starts one after the other, such as the heads of attention
};

}  // namespace shardline::kernels
