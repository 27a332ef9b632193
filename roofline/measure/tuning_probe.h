#pragma once

#include "collectives/schedule/tuning.h"
#include "runtime/base/units.h"
#include "runtime/mesh/mesh.h"

namespace shardline::roofline {

/// Rules for collectives from what is fastest on the axes of `mesh`: across nodes, up to which size a logarithmic
/// number of steps is, and what carries larger arrays; within a node, up to which size an all_reduce is one pass. What
/// the mesh does not have keeps the built-in rules. `budget` is spent on each time. Alike on all ranks. Collective over
/// `mesh`.
collectives::Tuning probe_tuning(const Mesh& mesh, Seconds budget);

}  // namespace shardline::roofline
