#pragma once

#include "collectives/schedule/tuning.h"
#include "runtime/base/units.h"
#include "runtime/mesh/mesh.h"

namespace shardline::roofline {

/// Collective over `mesh`: measures which algorithms are fastest on its axes and returns the rules, alike on all ranks.
/// Across nodes: the largest size for `doubling`, and the algorithm for larger arrays. Within a node: the largest size
/// of an all_reduce in one pass. Links that the mesh does not have keep the built-in rules. Each time takes `budget`.
collectives::Tuning probe_tuning(const Mesh& mesh, Seconds budget);

}  // namespace shardline::roofline
