#include "collectives/reshard.h"

#include <algorithm>
#include <utility>

#include "collectives/all_to_all.h"
#include "collectives/staging.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"

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

/// `box` of the logical array in coordinates of the block that starts where `block` does.
Box local(const Box& box, const Box& block) {
  Box result;
  for (std::size_t d = 0; d < box.size(); ++d) {
    result.push_back({box[d].begin - block[d].begin, box[d].end - block[d].begin});
  }
  return result;
}

std::vector<Box> local(const std::vector<Box>& boxes, const Box& block) {
  std::vector<Box> result;
  for (const Box& box : boxes) {
    result.push_back(element_count(extents(box)) > 0 ? local(box, block) : nothing(box.size()));
  }
  return result;
}

void check_local_shape(const Job& job, const char* name, const Tensor& tensor, const Box& expected) {
  if (tensor.shape() == extents(expected)) return;
  throw Error(fmt::format("{}: {} is {}; on {} it must be {}", job.label(), name, to_string(tensor.shape()),
                          job.peer(job.position()), to_string(extents(expected))));
}

/// Blocks of any size for any position: only algorithms that forward none know enough.
Algorithm resolve_reshard(Job& job, const Options& options) {
  const bool known = options.algorithm == Algorithm::automatic || options.algorithm == Algorithm::pairwise ||
                     options.algorithm == Algorithm::native;
  require(known, "{} has no algorithm {}; it has pairwise and native", job.label(), name_of(options.algorithm));
  job.algorithm =
      options.algorithm == Algorithm::native && job.positions() > 1 ? Algorithm::native : Algorithm::pairwise;
  return job.algorithm;
}

}  // namespace

ReshardPlan reshard_plan(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh,
                         Index rank) {
  check_shardings(shape, from, to, mesh);
  ReshardPlan plan;
  plan.axes = axes_to_exchange_over(from, to, mesh);
  plan.position = mesh.position_in_group(rank, plan.axes);
  plan.held = box(shape, from, mesh, rank);
  plan.wanted = box(shape, to, mesh, rank);

  // The group's axes that replicate the array as it is held: sender and receiver must agree on them.
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

Handle start_reshard(Engine& engine, const Tensor& in, const Shape& logical, const Sharding& from, const Sharding& to,
                     Tensor& out, const Options& options) {
  const ReshardPlan plan = reshard_plan(logical, from, to, engine.mesh().axes(), engine.mesh().rank());
  Job job = make_job(engine, "reshard", plan.axes, in, out);
  refuse_fed(job, options);
  check_local_shape(job, "in", in, plan.held);
  check_local_shape(job, "out", out, plan.wanted);

  std::vector<Box> in_boxes = local(plan.sends, plan.held);
  std::vector<Box> out_boxes = local(plan.receives, plan.wanted);
  const auto own = static_cast<std::size_t>(plan.position);
  const Box kept_in = std::exchange(in_boxes[own], nothing(logical.size()));
  const Box kept_out = std::exchange(out_boxes[own], nothing(logical.size()));
  const Chunks sends = stage_input(job, engine.scratch(), in, in_boxes);
  const Chunks receives = stage_output(job, engine.scratch(), out, out_boxes);
  const Algorithm algorithm = resolve_reshard(job, options);
  Exchange exchange{sends.ranges, receives.ranges, {}};
  Handle handle = start_exchange(engine, std::move(job), std::move(exchange), algorithm, options);
  copy_box({in.data(), in.shape(), kept_in}, {out.data(), out.shape(), kept_out}, size_of(in.dtype()));
  return handle;
}

void reshard(Engine& engine, const Tensor& in, const Shape& logical, const Sharding& from, const Sharding& to,
             Tensor& out, const Options& options) {
  start_reshard(engine, in, logical, from, to, out, options).wait();
}

}  // namespace shardline::collectives
