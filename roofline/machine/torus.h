#pragma once

#include <optional>
#include <vector>

#include "roofline/machine/catalogue.h"

namespace shardline::roofline {

/// The lengths of `axes` torus axes that hold `ranks` chips. Takes the shape with the most bandwidth, and of
/// these the one with the fewest hops from end to end. Empty if the chip has no such shape: if an axis wraps at
/// one length only, no axis is longer.
std::optional<std::vector<Index>> torus_sides(const Chip& chip, Index ranks, int axes);

/// True if an axis of this many chips wraps.
bool wraps(const Chip& chip, Index ranks);

}  // namespace shardline::roofline
