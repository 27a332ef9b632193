#include "collectives/traffic.h"

#include <algorithm>
#include <vector>

#include "collectives/all_gather.h"
#include "collectives/all_reduce.h"
#include "collectives/all_to_all.h"
#include "collectives/reduce_scatter.h"
#include "collectives/shift.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"

namespace shardline::collectives {
namespace {

Schedule schedule_of(Kind kind, Algorithm algorithm, const std::vector<Range>& blocks, Index elements, Index position) {
  const auto positions = static_cast<Index>(blocks.size());
  switch (kind) {
    case Kind::all_gather:
      return all_gather_schedule(algorithm, blocks, position);
    case Kind::reduce_scatter:
      return reduce_scatter_schedule(algorithm, blocks, position);
    case Kind::all_reduce:
      return all_reduce_schedule(algorithm, elements, positions, position);
    case Kind::all_to_all: {
      // Every position sends block j to position j, and so receives blocks of its own size.
      const Index size = blocks[static_cast<std::size_t>(position)].size();
      const std::vector<Range> receives(blocks.size(), Range{0, size});
      return all_to_all_schedule(algorithm, blocks, receives, position);
    }
    case Kind::shift:
      return shift_schedule(algorithm, elements, elements, 1, positions, position);
  }
  throw Error("unknown kind of collective");
}

}  // namespace

Traffic traffic(Index positions, Index element_size, const std::function<Schedule(Index position)>& schedule_of) {
  Traffic most;
  for (Index position = 0; position < positions; ++position) {
    const Schedule schedule = schedule_of(position);
    most.steps = std::max(most.steps, static_cast<Index>(schedule.steps.size()));
    most.wire_bytes = std::max(most.wire_bytes, elements_sent(schedule) * element_size);
  }
  return most;
}

Traffic traffic(Kind kind, Algorithm algorithm, Index positions, Index elements, Index element_size) {
  std::vector<Range> blocks;
  for (Index i = 0; i < positions; ++i) blocks.push_back(block(elements, positions, i));
  return traffic(positions, element_size,
                 [&](Index position) { return schedule_of(kind, algorithm, blocks, elements, position); });
}

}  // namespace shardline::collectives
