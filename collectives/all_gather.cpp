#include "collectives/all_gather.h"

#include <utility>

#include "collectives/native.h"
#include "collectives/schedule_run.h"
#include "collectives/staging.h"

// Ring: blocks travel round the ring, one place a step. In step s a position sends block (position - s) to the next one
// and receives block (position - s - 1) from the one before, straight into its place; what it receives it sends on.
// p - 1 steps; a position sends every block but its successor's, which is the least that a one-way ring can do.
namespace shardline::collectives {

void append_ring_all_gather(Schedule& schedule, const std::vector<Range>& chunks, Index position, const Piece& own) {
  const auto positions = static_cast<Index>(chunks.size());
  const auto block = [&](Index s) {
    return Piece{Buffer::output, chunks[static_cast<std::size_t>(ring_position(position, -s, positions))]};
  };
  const Index next = ring_position(position, 1, positions);
  const Index previous = ring_position(position, -1, positions);
  for (Index s = 0; s + 1 < positions; ++s) {
    schedule.add({{{next, s == 0 ? own : block(s)}}, {{previous, block(s + 1), Action::copy, {}}}});
  }
}

Schedule all_gather_schedule(Algorithm algorithm, const std::vector<Range>& chunks, Index position) {
  Schedule schedule;
  switch (algorithm) {
    case Algorithm::ring: {
      const Range own{0, chunks[static_cast<std::size_t>(position)].size()};
      append_ring_all_gather(schedule, chunks, position, {Buffer::input, own});
      break;
    }
    default:
      no_schedule(algorithm, "all_gather");
  }
  return schedule;
}

Handle start_all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out,
                        const Options& options) {
  Job job = make_job(engine, "all_gather", axes, in, out);
  check_shapes(job, in, out, {dim});
  const std::vector<Range> blocks = blocks_of(job, engine.mesh(), out.extent(dim));
  const auto own = static_cast<std::size_t>(job.position());
  const Algorithm algorithm = algorithm_for(job, options);
  check_extent(job, "in", in, dim, blocks[own].size());

  const std::vector<Box> boxes = cuts(out.shape(), dim, blocks);
  const Chunks chunks = stage_output(job, engine.scratch(), out, boxes);
  const auto place_own = [&, item = job.element_size()] {
    copy_box({in.data(), in.shape(), whole(in.shape())}, {out.data(), out.shape(), boxes[own]}, item);
  };
  if (algorithm == Algorithm::native) {
    if (chunks.packed) place_own();  // else MPI does, and `out` is MPI's until the end
    return engine.start(native_all_gather(std::move(job), in.size(), chunks.ranges));
  }
  Schedule schedule = all_gather_schedule(algorithm, chunks.ranges, job.position());
  Handle handle = start_schedule(engine, std::move(job), std::move(schedule), options);
  place_own();
  return handle;
}

void all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out, const Options& options) {
  start_all_gather(engine, axes, in, dim, out, options).wait();
}

}  // namespace shardline::collectives
