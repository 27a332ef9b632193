#pragma once

#include "runtime/base/units.h"

namespace shardline::kernels {

/// What one call of a kernel takes: floating-point operations, and the bytes that its operands and results occupy
/// (each counted once, the least memory traffic the call can have).
struct Cost {
  Flops flops;
  Bytes bytes;
};

}  // namespace shardline::kernels
