#include "collectives/schedule/traffic.h"

#include <algorithm>
#include <vector>

#include "collectives/schedule/schedules.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline::collectives {
namespace {

Schedule schedule_of(Kind kind, Algorithm algorithm, const Placement& placement, Index elements) {
  const Index positions = placement.positions();
  std::vector<Range> blocks;
  for (Index i = 0; i < positions; ++i) blocks.push_back(block(elements, positions, i));
  switch (kind) {
    case Kind::all_gather:
      return all_gather_schedule(algorithm, placement, blocks);
    case Kind::reduce_scatter:
      return reduce_scatter_schedule(algorithm, placement, blocks);
    case Kind::all_reduce:
      return all_reduce_schedule(algorithm, placement, elements);
    case Kind::all_to_all: {
      // Every position sends block j to position j, and so receives blocks of its own size.
      const Index size = blocks[static_cast<std::size_t>(placement.position)].size();
      const std::vector<Range> receives(blocks.size(), Range{0, size});
      const auto size_of_block = [blocks](Index, Index to) { return blocks[static_cast<std::size_t>(to)].size(); };
      return all_to_all_schedule(algorithm, placement, {blocks, receives, size_of_block});
    }
    case Kind::shift:
      return shift_schedule(algorithm, placement, elements, elements, 1);
  }
  throw Error("unknown kind of collective");
}

}  // namespace

Traffic traffic(Kind kind, Algorithm algorithm, const std::vector<Index>& axis_sizes, Index elements,
                const ElementSizes& sizes) {
  const Index positions = Placement{axis_sizes, 0}.positions();
  if (algorithm == Algorithm::direct) {
    // A rank reads the bytes that it would receive from every peer. There is one signal before and one after.
    // An all_reduce has one more between its two parts.
    const Algorithm like = kind == Kind::shift ? Algorithm::ring : Algorithm::pairwise;
    const Index bytes = traffic(kind, like, axis_sizes, elements, sizes).wire_bytes;
    return {positions == 1 ? 0 : kind == Kind::all_reduce ? 3 : 2, bytes};
  }
  Traffic most;
  for (Index position = 0; position < positions; ++position) {
    const Schedule schedule = schedule_of(kind, algorithm, {axis_sizes, position}, elements);
    most.rounds = std::max(most.rounds, round_count(schedule));
    most.wire_bytes = std::max(most.wire_bytes, busiest_direction(schedule, sizes));
  }
  return most;
}

}  // namespace shardline::collectives
