#pragma once

#include <algorithm>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline {

/// Work of one panel of a matrix product beside which collectives move: a few milliseconds of a core, so that a link
/// with some buffers never waits for the next poll, and enough that a product loses little by being cut.
inline constexpr double kPanelFlops = 5e8;
/// What a product keeps of its speed when it is cut so.
inline constexpr double kPanelEfficiency = 0.95;

/// Rows of a panel of a product of `flops` over `rows` rows.
inline Index panel_rows(Flops flops, Index rows) {
  if (flops.value <= kPanelFlops || rows <= 1) return std::max<Index>(rows, 1);
  return std::max<Index>(1, static_cast<Index>(static_cast<double>(rows) * kPanelFlops / flops.value));
}

}  // namespace shardline
