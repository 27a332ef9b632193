#include "collectives/all_reduce.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/native/native.h"
#include "collectives/run/schedule_run.h"
#include "collectives/run/staging.h"
#include "collectives/schedule/schedules.h"
#include "collectives/shared/direct.h"
#include "runtime/layout/blocks.h"

// all_reduce: the operands of all positions are combined element by element, and every position gets the whole sum. The
// array is cut into p near-equal *chunks*, one for each position. Most algorithms first scatter the sums of the chunks
// and then gather them. a0 is chunk A in the operand of position 0, and A = a0 + a1 + a2 + a3:
//
//                       position 0    position 1    position 2    position 3
//     in                a0 b0 c0 d0   a1 b1 c1 d1   a2 b2 c2 d2   a3 b3 c3 d3
//     reduce_scatter    A  .  .  .    .  B  .  .    .  .  C  .    .  .  .  D
//     all_gather        A  B  C  D    A  B  C  D    A  B  C  D    A  B  C  D
//
// `doubling` exchanges whole arrays instead, and `direct` adds small arrays whole on every rank. The rounds are drawn
// in schedule/torus_reduce.cpp (ring, bidirectional), schedule/pairwise.cpp, schedule/doubling.cpp and
// shared/direct.cpp.

namespace shardline::collectives {

Handle start_all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out,
                        const Options& options) {
  Job job = make_job(engine, "all_reduce", axes, in, out);
  job.op = op;
  check_shapes(job, in, out, {});
  accept_fed(job, 0, options);
  same_memory(job, in, out);
  const Question question{
      .kind = Kind::all_reduce, .bytes = in.bytes(), .direct = direct_possible(engine, job, in, out)};
  const Algorithm algorithm = resolve(engine, job, question, options);
  if (algorithm == Algorithm::direct) return engine.start(direct_all_reduce(engine, std::move(job), in, out));
  if (algorithm == Algorithm::native) return start_native_all_reduce(engine, std::move(job), in.size());
  if (job.positions() == 1) place_whole(job, in, out);
  Schedule schedule = all_reduce_schedule(algorithm, placement_of(job, engine.mesh()), in.size());
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

void all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out, const Options& options) {
  start_all_reduce(engine, axes, op, in, out, options).wait();
}

std::vector<double> max_over(Engine& engine, const Axes& axes, const std::vector<double>& values) {
  Tensor tensor(DType::f64, {static_cast<Index>(values.size())});
  std::copy(values.begin(), values.end(), tensor.view<double>().begin());
  all_reduce(engine, axes, ReduceOp::max, tensor, tensor);
  const View<double> result = tensor.view<double>();
  return {result.begin(), result.end()};
}

}  // namespace shardline::collectives
