#include "collectives/all_gather.h"

#include <utility>

#include "collectives/native/native.h"
#include "collectives/run/schedule_run.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/schedule_order.h"
#include "collectives/schedule/schedules.h"
#include "collectives/shared/direct.h"

// all_gather: every position has one block and gets the blocks of all. A *position* is a rank's place in the group. A
// *block* is a position's part of the array along `dim`. Here A, B, C, D are the blocks of positions 0 to 3:
//
//               position 0   position 1   position 2   position 3
//     in        A            B            C            D
//     out       A B C D      A B C D      A B C D      A B C D
//
// This file checks the arguments and chooses the algorithm. It copies the own block into `out` and starts the run.
// Other positions do not need that copy, so most schedules leave it out. The rounds of the messages are drawn in
// schedule/torus_reduce.cpp (ring, bidirectional), schedule/pairwise.cpp and schedule/doubling.cpp. shared/direct.cpp
// draws `direct`, which sends no messages.

namespace shardline::collectives {

Handle start_all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out,
                        const Options& options) {
  Job job = make_job(engine, "all_gather", axes, in, out);
  check_shapes(job, in, out, {dim});
  accept_fed(job, dim, options);
  std::vector<Range> blocks = blocks_of(job, engine.mesh(), out.extent(dim));
  const auto own = static_cast<std::size_t>(job.position());
  check_extent(job, "in", in, dim, blocks[own].size());
  const bool in_place = block_in_place(job, in, out, dim, blocks[own]);
  const Question question{
      .kind = Kind::all_gather, .bytes = out.bytes(), .direct = direct_possible(engine, job, in, out)};
  const Algorithm algorithm = resolve(engine, job, question, options);
  if (algorithm == Algorithm::direct) {
    return engine.start(direct_all_gather(engine, std::move(job), in, dim, out, std::move(blocks)));
  }

  const std::vector<Box> boxes = cuts(out.shape(), dim, blocks);
  const Chunks chunks = stage_output(job, engine.scratch(), out, boxes);
  if (!chunks.packed) job.placed = chunks.ranges[own];
  // If the algorithm first places the own block in the output, it sends the block from there.
  const bool placed = in_place || job.fed || (algorithm == Algorithm::doubling && !chunks.packed);
  const auto place_own = [&, item = job.element_size()] {
    if (!placed) copy_box({in.data(), in.shape(), whole(in.shape())}, {out.data(), out.shape(), boxes[own]}, item);
  };
  if (algorithm == Algorithm::native) {
    if (chunks.packed) place_own();  // otherwise MPI copies it, and `out` belongs to MPI until the end
    return start_native_all_gather(engine, std::move(job), in.size(), chunks.ranges);
  }
  Schedule schedule = all_gather_schedule(algorithm, placement_of(job, engine.mesh()), chunks.ranges);
  Handle handle = start_schedule(engine, std::move(job), std::move(schedule), options);
  place_own();
  return handle;
}

std::vector<Range> gather_order(const Engine& engine, const Axes& axes, const Tensor& out, const Options& options) {
  Job job;
  job.name = "all_gather";
  job.group = &engine.mesh().moving_group(axes);
  job.link = job.group->one_node ? LinkKind::node : LinkKind::network;
  job.fed = true;
  const Algorithm algorithm = resolve(engine, job, {.kind = Kind::all_gather, .bytes = out.bytes()}, options);
  const std::vector<Box> boxes = cuts(out.shape(), 0, blocks_of(job, engine.mesh(), out.extent(0)));
  const std::vector<Range> ranges = chunks_of(out.shape(), boxes).ranges;
  const Range own = ranges[static_cast<std::size_t>(job.position())];
  if (job.positions() == 1) return {own};
  return arrival_order(all_gather_schedule(algorithm, placement_of(job, engine.mesh()), ranges), own);
}

void all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out, const Options& options) {
  start_all_gather(engine, axes, in, dim, out, options).wait();
}

}  // namespace shardline::collectives
