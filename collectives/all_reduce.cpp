#include "collectives/all_reduce.h"

#include <cstring>
#include <utility>
#include <vector>

#include "collectives/all_gather.h"
#include "collectives/native.h"
#include "collectives/reduce_scatter.h"
#include "collectives/schedule_run.h"
#include "collectives/staging.h"
#include "runtime/blocks.h"

// Ring: the array is cut into p near-equal chunks (the block rule on its flat elements); a ring reduce_scatter leaves
// the combined chunk i on position i, in its place in the output, and a ring all_gather hands it to the others. 2 (p -
// 1) steps; a position sends about 2 (p - 1) / p of the array.
namespace shardline::collectives {
namespace {

Schedule ring_all_reduce(Index elements, Index positions, Index position) {
  std::vector<Range> chunks;
  for (Index i = 0; i < positions; ++i) chunks.push_back(block(elements, positions, i));
  const auto in_output = [&](Index i) { return Piece{Buffer::output, chunks[static_cast<std::size_t>(i)]}; };
  Schedule schedule;
  append_ring_reduce_scatter(schedule, chunks, position,
                             [&](Index s) { return in_output(ring_position(position, -2 - s, positions)); });
  append_ring_all_gather(schedule, chunks, position, in_output(position));
  return schedule;
}

}  // namespace

Schedule all_reduce_schedule(Algorithm algorithm, Index elements, Index positions, Index position) {
  switch (algorithm) {
    case Algorithm::ring:
      return ring_all_reduce(elements, positions, position);
    default:
      break;
  }
  no_schedule(algorithm, "all_reduce");
}

Handle start_all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out,
                        const Options& options) {
  Job job = make_job(engine, "all_reduce", axes, in, out, InPlace::allowed);
  job.op = op;
  check_shapes(job, in, out, {});
  const Algorithm algorithm = algorithm_for(job, options);
  if (algorithm == Algorithm::native) return engine.start(native_all_reduce(std::move(job), in.size()));
  if (job.positions() == 1 && in.bytes() > 0 && in.data() != out.data()) {
    std::memcpy(out.data(), in.data(), static_cast<std::size_t>(in.bytes()));
  }
  Schedule schedule = all_reduce_schedule(algorithm, in.size(), job.positions(), job.position());
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

void all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out, const Options& options) {
  start_all_reduce(engine, axes, op, in, out, options).wait();
}

}  // namespace shardline::collectives
