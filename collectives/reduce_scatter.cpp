#include "collectives/reduce_scatter.h"

#include <utility>

#include "collectives/native/native.h"
#include "collectives/run/schedule_run.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/schedules.h"
#include "collectives/shared/direct.h"

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
