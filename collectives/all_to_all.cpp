#include "collectives/all_to_all.h"

#include <utility>

#include "collectives/native.h"
#include "collectives/schedule_run.h"
#include "collectives/staging.h"

// Ring: in step d a position sends straight to the one d places further and receives from the one d places behind, so
// that every position sends one chunk and receives one at any time. p - 1 steps; each chunk crosses the network once
// (hop by hop round a real ring, a chunk at distance d would load d links: a matter for prices of such machines).
namespace shardline::collectives {
namespace {

Schedule ring_all_to_all(const std::vector<Range>& sends, const std::vector<Range>& receives, Index position) {
  const auto positions = static_cast<Index>(sends.size());
  Schedule schedule;
  for (Index d = 1; d < positions; ++d) {
    const Index to = ring_position(position, d, positions);
    const Index from = ring_position(position, -d, positions);
    schedule.add({{{to, {Buffer::input, sends[static_cast<std::size_t>(to)]}}},
                  {{from, {Buffer::output, receives[static_cast<std::size_t>(from)]}, Action::copy, {}}}});
  }
  return schedule;
}

}  // namespace

Schedule all_to_all_schedule(Algorithm algorithm, const std::vector<Range>& sends, const std::vector<Range>& receives,
                             Index position) {
  switch (algorithm) {
    case Algorithm::ring:
      return ring_all_to_all(sends, receives, position);
    default:
      break;
  }
  no_schedule(algorithm, "all_to_all");
}

Handle start_all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                        const Options& options) {
  Job job = make_job(engine, "all_to_all", axes, in, out);
  check_shapes(job, in, out, {gather_dim, split_dim});
  const std::vector<Range> gathered = blocks_of(job, engine.mesh(), out.extent(gather_dim));
  const std::vector<Range> split = blocks_of(job, engine.mesh(), in.extent(split_dim));
  const auto own = static_cast<std::size_t>(job.position());
  check_extent(job, "in", in, gather_dim, gathered[own].size());
  check_extent(job, "out", out, split_dim, split[own].size());

  const std::vector<Box> in_boxes = cuts(in.shape(), split_dim, split);
  const std::vector<Box> out_boxes = cuts(out.shape(), gather_dim, gathered);
  const Chunks sends = stage_input(job, engine.scratch(), in, in_boxes);
  const Chunks receives = stage_output(job, engine.scratch(), out, out_boxes);
  Handle handle = start_exchange(engine, std::move(job), sends.ranges, receives.ranges, options);
  copy_box({in.data(), in.shape(), in_boxes[own]}, {out.data(), out.shape(), out_boxes[own]}, size_of(in.dtype()));
  return handle;
}

void all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                const Options& options) {
  start_all_to_all(engine, axes, in, gather_dim, split_dim, out, options).wait();
}

Handle start_exchange(Engine& engine, Job job, const std::vector<Range>& sends, const std::vector<Range>& receives,
                      const Options& options) {
  const Algorithm algorithm = algorithm_for(job, options);
  if (algorithm == Algorithm::native) return engine.start(native_exchange(std::move(job), {sends, receives}));
  Schedule schedule = all_to_all_schedule(algorithm, sends, receives, job.position());
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

}  // namespace shardline::collectives
