#pragma once

#include "collectives/schedule/tuning.h"
#include "runtime/base/units.h"
#include "runtime/mesh/mesh.h"

namespace shardline::roofline {

/// Measures the fastest algorithms on the axes of `mesh` and returns the rules, the same on all ranks. Across
/// nodes: the largest size for `doubling`, and the algorithm for larger arrays. Within a node: the largest size
/// of an all_reduce in one pass. The built-in rules stay for links that the mesh does not have. Each time takes
/// `budget`. Collective over `mesh`.
collectives::Tuning probe_tuning(const Mesh& mesh, Seconds budget);

}  // namespace shardline::roofline
