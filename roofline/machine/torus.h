#pragma once

#include <optional>
#include <vector>

#include "roofline/machine/catalogue.h"

namespace shardline::roofline {

/// The lengths of `axes` torus axes that hold `ranks` chips. Takes the shape with the most bandwidth, and of
/// these the one with the fewest hops from end to end. Empty if the chip has no such shape: if an axis wraps at
/// one length only, no axis is longer.
std::optional<std::vector<Index>> torus_sides(const Chip& chip, Index ranks, int axes);

/// The parts of torus axes of these lengths that mesh axes of these sizes have, the major one first: for each mesh axis
/// one length on each torus axis. Minor mesh axes take the last torus axes, and of each what it has room for. The sizes
/// multiply to the chips of the torus.
std::vector<std::vector<Index>> shared_sides(std::vector<Index> torus, const std::vector<Index>& sizes);

/// True if an axis of this many chips wraps.
bool wraps(const Chip& chip, Index ranks);

}  // namespace shardline::roofline
