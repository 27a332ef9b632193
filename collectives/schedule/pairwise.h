#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// Algorithm `pairwise`: every position exchanges with every other, one after the other: in step d with those d places
// further and d places behind, so that everybody sends one chunk and receives one at any time. p - 1 steps (all_reduce:
// twice that), and no chunk is forwarded. Right on a switch, where every pair has a way of its own. In a reduction the
// parts of a chunk all come to its owner, which adds them in order of position: bf16 is rounded once.

/// As torus_all_gather().
Schedule pairwise_all_gather(const Placement& placement, const std::vector<Range>& chunks);

/// As torus_reduce_scatter().
Schedule pairwise_reduce_scatter(const Placement& placement, const std::vector<Range>& chunks);

/// As torus_all_reduce().
Schedule pairwise_all_reduce(const Placement& placement, const std::vector<Range>& chunks);

/// The own block is the caller's to move.
Schedule pairwise_all_to_all(const Placement& placement, const Exchange& exchange);

}  // namespace shardline::collectives
