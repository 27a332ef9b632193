#pragma once

#include <optional>
#include <vector>

#include "roofline/machine/catalogue.h"

namespace shardline::roofline {

/// `ranks` chips laid over `axes` torus axes: the lengths that wrap most, of these the ones of the fewest steps from
/// end to end. None where the torus of the chip has no such shape: where an axis wraps at one length only, no axis is
/// longer.
std::optional<std::vector<Index>> torus_sides(const Chip& chip, Index ranks, int axes);

/// True when an axis of so many chips wraps.
bool wraps(const Chip& chip, Index ranks);

}  // namespace shardline::roofline
