#include "collectives/reduce_scatter.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "collectives/native.h"
#include "collectives/schedule_run.h"
#include "collectives/staging.h"

// Ring: a sum for each block travels round the ring and ends at the block's owner. The one for block c starts at
// position c + 1 as that position's operand, and every position it reaches adds its own: ((x[c+1] + x[c+2]) + ...) +
// x[c]. In step s a position sends the sum for block (position - 1 - s) and receives the one for block (position - 2 -
// s). p - 1 steps; a position sends every block but its own, and needs room for two sums on their way.
namespace shardline::collectives {

void append_ring_reduce_scatter(Schedule& schedule, const std::vector<Range>& chunks, Index position,
                                const std::function<Piece(Index s)>& partial) {
  const auto positions = static_cast<Index>(chunks.size());
  const auto operand = [&](Index s) {
    return Piece{Buffer::input, chunks[static_cast<std::size_t>(ring_position(position, -1 - s, positions))]};
  };
  const Index next = ring_position(position, 1, positions);
  const Index previous = ring_position(position, -1, positions);
  for (Index s = 0; s + 1 < positions; ++s) {
    schedule.add(
        {{{next, s == 0 ? operand(0) : partial(s - 1)}}, {{previous, partial(s), Action::reduce, operand(s + 1)}}});
  }
}

namespace {

Schedule ring_reduce_scatter(const std::vector<Range>& chunks, Index position) {
  const auto positions = static_cast<Index>(chunks.size());
  Index largest = 0;
  for (const Range& chunk : chunks) largest = std::max(largest, chunk.size());
  const auto partial = [&](Index s) {
    const Index size = chunks[static_cast<std::size_t>(ring_position(position, -2 - s, positions))].size();
    if (s + 2 == positions) return Piece{Buffer::output, {0, size}};
    const Index begin = s % 2 * largest;  // step s sends from one half while it receives into the other
    return Piece{Buffer::work, {begin, begin + size}};
  };
  Schedule schedule;
  schedule.work_size = positions > 2 ? 2 * largest : 0;
  append_ring_reduce_scatter(schedule, chunks, position, partial);
  return schedule;
}

/// MPI_Reduce_scatter takes the blocks one after the other in the order of its own ranks.
std::shared_ptr<Operation> prepare_native(Job job, ScratchPool& pool, const Tensor& in, const std::vector<Box>& boxes) {
  std::vector<Index> counts;
  for (const Box& box : boxes) counts.push_back(element_count(extents(box)));
  const std::vector<Box> ordered = by_comm_rank(job.group, boxes);
  if (std::is_sorted(job.group.ranks.begin(), job.group.ranks.end())) {
    stage_input(job, pool, in, ordered);
  } else {
    pack_input(job, pool, in, ordered);
  }
  return native_reduce_scatter(std::move(job), counts);
}

}  // namespace

Schedule reduce_scatter_schedule(Algorithm algorithm, const std::vector<Range>& chunks, Index position) {
  switch (algorithm) {
    case Algorithm::ring:
      return ring_reduce_scatter(chunks, position);
    default:
      break;
  }
  no_schedule(algorithm, "reduce_scatter");
}

Handle start_reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                            const Options& options) {
  Job job = make_job(engine, "reduce_scatter", axes, in, out);
  job.op = op;
  check_shapes(job, in, out, {dim});
  const std::vector<Range> blocks = blocks_of(job, engine.mesh(), in.extent(dim));
  check_extent(job, "out", out, dim, blocks[static_cast<std::size_t>(job.position())].size());

  const Algorithm algorithm = algorithm_for(job, options);
  const std::vector<Box> boxes = cuts(in.shape(), dim, blocks);
  if (algorithm == Algorithm::native) {
    return engine.start(prepare_native(std::move(job), engine.scratch(), in, boxes));
  }
  if (job.positions() == 1 && in.bytes() > 0) std::memcpy(out.data(), in.data(), static_cast<std::size_t>(in.bytes()));
  const Chunks chunks = stage_input(job, engine.scratch(), in, boxes);
  Schedule schedule = reduce_scatter_schedule(algorithm, chunks.ranges, job.position());
  return start_schedule(engine, std::move(job), std::move(schedule), options);
}

void reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                    const Options& options) {
  start_reduce_scatter(engine, axes, op, in, dim, out, options).wait();
}

}  // namespace shardline::collectives
