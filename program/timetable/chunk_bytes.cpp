#include "program/timetable/chunk_bytes.h"

#include <algorithm>

namespace shardline {
namespace {

const std::vector<Bytes>& working(const ChunkBytes& bytes, TaskKind kind) {
  if (kind == TaskKind::forward) return bytes.working_forward;
  return kind == TaskKind::backward ? bytes.working_backward : bytes.working_split;
}

}  // namespace

std::vector<Bytes> most_held(const Timetable& timetable, const ChunkBytes& bytes) {
  std::vector<Bytes> most;
  for (const std::vector<Task>& order : timetable.orders) {
    Bytes held, peak;
    for (const Task& task : order) {
      const auto chunk = static_cast<std::size_t>(task.chunk);
      const Bytes early = bytes.activations[chunk] - bytes.for_weights[chunk];
      // What a task leaves is there while it runs, and what it frees too.
      if (task.kind == TaskKind::forward) held += bytes.activations[chunk];
      if (task.kind == TaskKind::inputs) held += bytes.gradients[chunk];
      peak = std::max(peak, held + working(bytes, task.kind)[chunk]);
      if (task.kind == TaskKind::backward) held = held - bytes.activations[chunk];
      if (task.kind == TaskKind::inputs) held = held - early;
      if (task.kind == TaskKind::weights) held = held - bytes.for_weights[chunk] - bytes.gradients[chunk];
    }
    most.push_back(peak);
  }
  return most;
}

}  // namespace shardline
