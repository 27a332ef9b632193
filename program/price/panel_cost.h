#pragma once

#include <algorithm>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline {

/// Work of one panel of a matrix product beside which collectives move: some ten milliseconds of a core, so that a link
/// with some buffers never waits for the next poll, and enough that a product loses little by being cut.
inline constexpr Flops kPanelFlops{1e9};
/// What a product keeps of its speed when it is cut so.
inline constexpr double kPanelEfficiency = 0.95;

/// Rows of a panel of `panel` in a product of `flops` over `rows` rows.
inline Index panel_rows(Flops panel, Flops flops, Index rows) {
  if (flops <= panel || rows <= 1) return std::max<Index>(rows, 1);
  return std::max<Index>(1, static_cast<Index>(static_cast<double>(rows) * (panel / flops)));
}

/// What a product of this price takes beside collectives: it is cut into panels where they must be polled.
inline Seconds in_panels(Seconds product, bool polled) { return polled ? product / kPanelEfficiency : product; }

/// What a collective beside a product of `flops`, cut into panels of `panel`, adds to the longer of the two: one panel
/// of the shorter, at its beginning or its end, when nothing is there yet to go beside.
inline Seconds one_panel(Seconds product_in_panels, Seconds moving, Flops panel, Flops flops) {
  return std::min(product_in_panels, moving) / std::max(1.0, flops / panel);
}

}  // namespace shardline
