#include "collectives/reshard.h"

#include <algorithm>
#include <utility>

#include "collectives/all_to_all.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/reshard_plan.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

// reshard: an array changes its sharding. A *box* is the part of the array that one rank holds. Each rank sends the
// intersection of the box that it holds and the box that the receiver wants. Here A[I_XY, J] becomes A[I_X, J_Y] on a
// mesh of 2 x 2. A digit is the position that has the element:
//
//     held      0 0      wanted    0 1      sent      position 0    row 0, right to 1
//               1 1                0 1                position 1    row 1, left  to 0
//               2 2                2 3                position 2    row 2, right to 3
//               3 3                2 3                position 3    row 3, left  to 2
//
// The rest stays: row 0, left on position 0, and so on. This file copies it. reshard_plan() computes the boxes, and the
// messages go as in a pairwise all_to_all, in which boxes may be empty.

namespace shardline::collectives {
namespace {

/// `box` of the logical array, in coordinates of `block`.
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
    result.push_back(element_count(extents(box)) > 0 ? local(box, block) : Box(box.size(), Range{0, 0}));
  }
  return result;
}

void check_local_shape(const Job& job, const char* name, const Tensor& tensor, const Box& expected) {
  if (tensor.shape() == extents(expected)) return;
  throw Error(fmt::format("{}: {} is {}; on {} it must be {}", job.label(), name, to_string(tensor.shape()),
                          job.peer(job.position()), to_string(extents(expected))));
}

/// A rank knows only the sizes of its own messages, so only algorithms that never forward a block work.
Algorithm resolve_reshard(Job& job, const Options& options) {
  const bool known = options.algorithm == Algorithm::automatic || options.algorithm == Algorithm::pairwise ||
                     options.algorithm == Algorithm::native;
  require(known, "{} has no algorithm {}; it has pairwise and native", job.label(), name_of(options.algorithm));
  job.algorithm =
      options.algorithm == Algorithm::native && job.positions() > 1 ? Algorithm::native : Algorithm::pairwise;
  return job.algorithm;
}

}  // namespace

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
  const Box kept_in = std::exchange(in_boxes[own], Box(logical.size(), Range{0, 0}));
  const Box kept_out = std::exchange(out_boxes[own], Box(logical.size(), Range{0, 0}));
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
