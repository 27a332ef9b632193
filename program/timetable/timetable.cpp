#include "program/timetable/timetable.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardline {
namespace {

bool has_kind(const Timetable& timetable, TaskKind kind) {
  return std::find(timetable.kinds.begin(), timetable.kinds.end(), kind) != timetable.kinds.end();
}

/// "a" for the first chunk of a stage, "b" for the second; nothing where no stage has two.
std::string chunk_letter(const Timetable& timetable, int chunk) {
  if (timetable.chunks() <= timetable.stages) return "";
  const auto here = timetable.place.begin() + chunk;
  return std::string(1, static_cast<char>('a' + std::count(timetable.place.begin(), here, *here)));
}

}  // namespace

bool is_split(const Timetable& timetable) { return has_kind(timetable, TaskKind::weights); }

TaskKind last_kind(const Timetable& timetable) {
  if (is_split(timetable)) return TaskKind::weights;
  return has_kind(timetable, TaskKind::backward) ? TaskKind::backward : TaskKind::forward;
}

std::vector<ChunkTask> needs(const Timetable& timetable, const ChunkTask& task) {
  const auto& [kind, chunk] = task;
  if (kind == TaskKind::weights) return {{TaskKind::inputs, chunk}};
  if (kind == TaskKind::forward) {
    if (chunk == 0) return {};
    return {{TaskKind::forward, chunk - 1}};
  }
  std::vector<ChunkTask> needed{{TaskKind::forward, chunk}};
  if (chunk + 1 < timetable.chunks()) needed.push_back({kind, chunk + 1});
  return needed;
}

Timetable forward_only(Timetable timetable) {
  timetable.kinds = {TaskKind::forward};
  for (std::vector<Task>& order : timetable.orders) {
    std::erase_if(order, [](const Task& task) { return task.kind != TaskKind::forward; });
  }
  return timetable;
}

std::string to_string(const Timetable& timetable, const Task& task) {
  return fmt::format("{}{}{}", to_string(task.kind), task.micro_batch, chunk_letter(timetable, task.chunk));
}

bool has_task(const Timetable& timetable, const Task& task) {
  return has_kind(timetable, task.kind) && task.chunk >= 0 && task.chunk < timetable.chunks() &&
         task.micro_batch >= 0 && task.micro_batch < timetable.micro_batches;
}

std::size_t number_of(const Timetable& timetable, const ChunkTask& task) {
  return static_cast<std::size_t>(task.kind) * timetable.place.size() + static_cast<std::size_t>(task.chunk);
}

std::size_t chunk_task_count(const Timetable& timetable) { return kTaskKinds * timetable.place.size(); }

std::size_t number_of(const Timetable& timetable, const Task& task) {
  return number_of(timetable, task.of_chunk()) * static_cast<std::size_t>(timetable.micro_batches) +
         static_cast<std::size_t>(task.micro_batch);
}

std::size_t task_count(const Timetable& timetable) {
  return chunk_task_count(timetable) * static_cast<std::size_t>(timetable.micro_batches);
}

}  // namespace shardline
