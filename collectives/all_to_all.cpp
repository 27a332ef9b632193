#include "collectives/all_to_all.h"

#include <utility>

#include "collectives/native/native.h"
#include "collectives/run/schedule_run.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/schedules.h"
#include "collectives/shared/direct.h"

// all_to_all: every position has a block for every other position. Block xy is in the operand of position x and belongs
// to position y:
//
//               position 0    position 1    position 2    position 3
//     in        00 01 02 03   10 11 12 13   20 21 22 23   30 31 32 33     cut along `split_dim`
//     out       00 10 20 30   01 11 21 31   02 12 22 32   03 13 23 33     joined along `gather_dim`
//
// Blocks 00, 11, 22 and 33 stay on their rank, and this file copies them. Blocks that are not contiguous in the array
// are packed into messages and unpacked at the end. The rounds are drawn in schedule/pairwise.cpp,
// schedule/doubling.cpp and schedule/torus_exchange.cpp (ring, bidirectional). shared/direct.cpp draws `direct`, which
// sends no messages.

namespace shardline::collectives {

Handle start_all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                        const Options& options) {
  Job job = make_job(engine, "all_to_all", axes, in, out);
  check_shapes(job, in, out, {gather_dim, split_dim});
  refuse_fed(job, options);
  std::vector<Range> gathered = blocks_of(job, engine.mesh(), out.extent(gather_dim));
  const std::vector<Range> split = blocks_of(job, engine.mesh(), in.extent(split_dim));
  const auto own = static_cast<std::size_t>(job.position());
  check_extent(job, "in", in, gather_dim, gathered[own].size());
  check_extent(job, "out", out, split_dim, split[own].size());
  Index others = 1;  // elements of the dims that do not change
  for (int d = 0; d < static_cast<int>(in.shape().size()); ++d) {
    if (d != gather_dim && d != split_dim) others *= in.extent(d);
  }
  const Index whole_array = others * out.extent(gather_dim) * in.extent(split_dim);
  const Question question{.kind = Kind::all_to_all,
                          .bytes = whole_array / job.positions() * job.element_size(),
                          .direct = direct_possible(engine, job, in, out)};
  const Algorithm algorithm = resolve(engine, job, question, options);
  const bool in_place = same_memory(job, in, out);
  if (algorithm == Algorithm::direct) {
    return engine.start(
        direct_all_to_all(engine, std::move(job), in, out, {gather_dim, gathered, split_dim, split[own]}));
  }

  const std::vector<Box> in_boxes = cuts(in.shape(), split_dim, split);
  const std::vector<Box> out_boxes = cuts(out.shape(), gather_dim, gathered);
  const Chunks sends =
      in_place ? pack_input(job, engine.scratch(), in, in_boxes) : stage_input(job, engine.scratch(), in, in_boxes);
  const Chunks receives = stage_output(job, engine.scratch(), out, out_boxes);
  const Index item = job.element_size();
  const Shape block = extents(in_boxes[own]);
  const ConstBoxView own_in = in_place ? ConstBoxView{job.input + sends.ranges[own].begin * item, block, whole(block)}
                                       : ConstBoxView{in.data(), in.shape(), in_boxes[own]};
  const std::shared_ptr<const void> kept = job.kept;  // keeps the packed copy until the own block is copied out of it
  Exchange exchange{sends.ranges, receives.ranges, [gathered, split, others](Index from, Index to) {
                      return gathered[static_cast<std::size_t>(from)].size() *
                             split[static_cast<std::size_t>(to)].size() * others;
                    }};
  if (algorithm == Algorithm::native && !sends.packed && !receives.packed) {
    return start_native_exchange(engine, std::move(job), exchange);
  }
  Handle handle = start_exchange(engine, std::move(job), std::move(exchange), algorithm, options);
  copy_box(own_in, {out.data(), out.shape(), out_boxes[own]}, item);
  return handle;
}

void all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                const Options& options) {
  start_all_to_all(engine, axes, in, gather_dim, split_dim, out, options).wait();
}

Handle start_exchange(Engine& engine, Job job, Exchange exchange, Algorithm algorithm, const Options& options) {
  if (algorithm == Algorithm::native) {
    const auto own = static_cast<std::size_t>(job.position());
    exchange.sends[own] = {0, 0};
    exchange.receives[own] = {0, 0};
    return start_native_exchange(engine, std::move(job), exchange);
  }
  Schedule schedule = all_to_all_schedule(algorithm, placement_of(job, engine.mesh()), exchange);
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

}  // namespace shardline::collectives
