#include <algorithm>

#include "program/timetable/makers.h"

namespace shardline {
namespace {

/// A chunk's turn: which micro-batch it does.
struct ChunkTurn {
  int chunk = 0;
  Index micro_batch = 0;
};

/// The turns of a stage in one pass, of as many micro-batches as fill groups. In a group every chunk of the stage, the
/// first one first or last, does all micro-batches.
std::vector<ChunkTurn> turns_of_pass(const Timetable& shape, int stage, bool first_chunk_first) {
  const int depth = shape.chunks() / shape.stages;
  std::vector<ChunkTurn> turns;
  for (Index group = 0; group < shape.micro_batches; group += shape.stages) {
    for (int i = 0; i < depth; ++i) {
      const int chunk = stage + shape.stages * (first_chunk_first ? i : depth - 1 - i);
      for (Index m = group; m < group + shape.stages; ++m) turns.push_back({chunk, m});
    }
  }
  return turns;
}

std::vector<Task> order_of_stage(const Timetable& shape, const TimetableRow& row, int stage) {
  const std::vector<ChunkTurn> forward = turns_of_pass(shape, stage, true);
  const std::vector<ChunkTurn> backward = turns_of_pass(shape, stage, false);
  const auto turns = static_cast<Index>(forward.size());
  const Index ahead = std::min(row.ahead(stage, shape.stages, shape.micro_batches), turns);
  const Index lag = row.lag(stage);
  std::vector<Task> order;
  const auto add = [&](TaskKind kind, const std::vector<ChunkTurn>& pass, Index i) {
    if (i < 0 || i >= turns) return;
    const auto [chunk, m] = pass[static_cast<std::size_t>(i)];
    if (m < shape.micro_batches) order.push_back({kind, chunk, m});
  };
  for (Index i = 0; i < ahead; ++i) add(TaskKind::forward, forward, i);
  for (Index i = 0; i < turns + (row.split ? lag : 0); ++i) {
    add(row.split ? TaskKind::inputs : TaskKind::backward, backward, i);
    if (row.split) add(TaskKind::weights, backward, i - lag);
    add(TaskKind::forward, forward, ahead + i);
  }
  return order;
}

}  // namespace

std::vector<std::vector<Task>> ordered_orders(const Timetable& shape, const TimetableRow& row) {
  std::vector<std::vector<Task>> orders;
  for (int z = 0; z < shape.stages; ++z) orders.push_back(order_of_stage(shape, row, z));
  return orders;
}

}  // namespace shardline
