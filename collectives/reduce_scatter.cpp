#include "collectives/reduce_scatter.h"

#include <utility>

#include "collectives/native/native.h"
#include "collectives/run/schedule_run.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/schedules.h"
#include "collectives/shared/direct.h"

// reduce_scatter: every position has a whole array, its *operand*. The operands are added (or combined by max), element
// by element, and each position keeps one block of the sum. a0 is block A in the operand of position 0:
//
//               position 0    position 1    position 2    position 3
//     in        a0 b0 c0 d0   a1 b1 c1 d1   a2 b2 c2 d2   a3 b3 c3 d3
//     out       A             B             C             D             A = a0 + a1 + a2 + a3, and so on
//
// The order of the additions depends on the algorithm, never on which message comes first. This file checks the
// arguments, chooses the algorithm and starts the run. The rounds are drawn in schedule/torus_reduce.cpp (ring,
// bidirectional), schedule/pairwise.cpp and schedule/doubling.cpp. shared/direct.cpp draws `direct`, which sends no
// messages.

namespace shardline::collectives {

Handle start_reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                            const Options& options) {
  Job job = make_job(engine, "reduce_scatter", axes, in, out);
  job.op = op;
  check_shapes(job, in, out, {dim});
  accept_fed(job, dim, options);
  const std::vector<Range> blocks = blocks_of(job, engine.mesh(), in.extent(dim));
  const auto own = static_cast<std::size_t>(job.position());
  check_extent(job, "out", out, dim, blocks[own].size());
  block_in_place(job, out, in, dim, blocks[own]);
  const Question question{
      .kind = Kind::reduce_scatter, .bytes = in.bytes(), .direct = direct_possible(engine, job, in, out)};
  const Algorithm algorithm = resolve(engine, job, question, options);
  if (algorithm == Algorithm::direct) {
    return engine.start(direct_reduce_scatter(engine, std::move(job), in, dim, out, blocks[own]));
  }

  const std::vector<Box> boxes = cuts(in.shape(), dim, blocks);
  if (algorithm == Algorithm::native) {
    return start_native_reduce_scatter(engine, std::move(job), in, boxes);
  }
  if (job.positions() == 1) place_whole(job, in, out);
  const Chunks chunks = stage_input(job, engine.scratch(), in, boxes);
  Schedule schedule = reduce_scatter_schedule(algorithm, placement_of(job, engine.mesh()), chunks.ranges);
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

void reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                    const Options& options) {
  start_reduce_scatter(engine, axes, op, in, dim, out, options).wait();
}

}  // namespace shardline::collectives
