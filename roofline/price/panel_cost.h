#pragma once

#include <algorithm>

#include "roofline/price/hardware.h"
#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::roofline {

/// The time of one panel of a matrix product on CPUs, where collectives advance only if they are polled. This
/// is short enough for a link with some buffers: it never waits for the next poll. It is long
/// enough for the product: cutting costs little speed.
inline constexpr Seconds kPolledPanel{20e-3};
/// The same where links advance by themselves: long beside the latency of a link.
inline constexpr Seconds kFreePanel{5e-6};

/// The time of one panel on these ranks.
inline Seconds panel_time(const Hardware& hardware) { return hardware.polled ? kPolledPanel : kFreePanel; }

/// The work of one panel of a matrix product on these ranks.
inline Flops panel_work(const Hardware& hardware) { return Flops(hardware.matmul.value * panel_time(hardware).value); }

/// Rows of one panel of work `panel`, in a product of `flops` over `rows` rows.
inline Index panel_rows(Flops panel, Flops flops, Index rows) {
  if (flops <= panel || rows <= 1) return std::max<Index>(rows, 1);
  return std::max<Index>(1, static_cast<Index>(static_cast<double>(rows) * (panel / flops)));
}

/// The time of a product beside collectives. If they must be polled, the product is cut into
/// panels.
inline Seconds in_panels(Seconds product, const Hardware& hardware) {
  return hardware.polled ? product / hardware.panels : product;
}

/// The time of a fused collective and product beyond the longer of the two: one panel of the
/// shorter. At the beginning or at the end one of them has nothing to run beside. The product of
/// `flops` is cut into panels of `panel`.
inline Seconds one_panel(Seconds product_in_panels, Seconds moving, Flops panel, Flops flops) {
  return std::min(product_in_panels, moving) / std::max(1.0, flops / panel);
}

}  // namespace shardline::roofline
