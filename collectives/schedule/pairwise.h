#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// Algorithm `pairwise`: every position exchanges with every other, one after the other. In round d it sends to the
// position d places further and receives from the one d places behind, so that every position sends one chunk and
// receives one at a time. There are p - 1 rounds (twice as many for all_reduce), and no chunk is forwarded. It suits a
// switch, where every two ranks have their own way. In a reduction all parts of a chunk come to its owner, which adds
// them in order of position. So bf16 is rounded once. pairwise.cpp draws the rounds.

/// As torus_all_gather().
Schedule pairwise_all_gather(const Placement& placement, const std::vector<Range>& chunks);

/// As torus_reduce_scatter().
Schedule pairwise_reduce_scatter(const Placement& placement, const std::vector<Range>& chunks);

/// As torus_all_reduce().
Schedule pairwise_all_reduce(const Placement& placement, const std::vector<Range>& chunks);

/// The caller copies the own block.
Schedule pairwise_all_to_all(const Placement& placement, const Exchange& exchange);

}  // namespace shardline::collectives
