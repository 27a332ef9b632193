#include "collectives/schedule/reshard_plan.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline::collectives {
namespace {

/// Dim names for messages: "0", "1", ...
std::vector<std::string> dim_numbers(std::size_t dims) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < dims; ++d) names.push_back(std::to_string(d));
  return names;
}

void check_shardings(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh) {
  const std::vector<std::string> names = dim_numbers(shape.size());
  const Sharding old = validated(from, "from", names, mesh);
  const Sharding wanted = validated(to, "to", names, mesh);
  require(old.unreduced == wanted.unreduced && old.reduce == wanted.reduce,
          "reshard from {} to {}: what is owed must be the same on both sides", to_string("A", names, old),
          to_string("A", names, wanted));
}

/// Every axis of every dim that changes, in mesh order, without those of size 1.
Axes axes_to_exchange_over(const Sharding& from, const Sharding& to, const AbstractMesh& mesh) {
  Axes used;
  for (std::size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d] == to.dims[d]) continue;
    used.insert(used.end(), from.dims[d].begin(), from.dims[d].end());
    used.insert(used.end(), to.dims[d].begin(), to.dims[d].end());
  }
  Axes axes = mesh.axes_that_move();
  std::erase_if(axes, [&](const Axis& axis) { return !contains(used, axis); });
  return axes;
}

Box intersection(const Box& a, const Box& b) {
  Box both;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const Index begin = std::max(a[d].begin, b[d].begin);
    both.push_back({begin, std::max(begin, std::min(a[d].end, b[d].end))});
  }
  return both;
}

Box nothing(std::size_t dims) { return Box(dims, Range{0, 0}); }

}  // namespace

ReshardPlan reshard_plan(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh,
                         Index rank) {
  check_shardings(shape, from, to, mesh);
  ReshardPlan plan;
  plan.axes = axes_to_exchange_over(from, to, mesh);
  plan.position = mesh.position_in_group(rank, plan.axes);
  plan.held = box(shape, from, mesh, rank);
  plan.wanted = box(shape, to, mesh, rank);

  // The group's axes that replicate the held array. Sender and receiver must have the same coordinates on them.
  Axes replicating = plan.axes;
  std::erase_if(replicating, [&](const Axis& axis) { return from.dim_of(axis) >= 0; });
  const Index replica = mesh.position_in_group(rank, replicating);
  for (const Index peer : mesh.group(rank, plan.axes)) {
    const bool paired = mesh.position_in_group(peer, replicating) == replica;
    plan.sends.push_back(paired ? intersection(plan.held, box(shape, to, mesh, peer)) : nothing(shape.size()));
    plan.receives.push_back(paired ? intersection(box(shape, from, mesh, peer), plan.wanted) : nothing(shape.size()));
  }
  return plan;
}

}  // namespace shardline::collectives
