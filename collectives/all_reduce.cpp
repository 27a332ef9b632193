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
