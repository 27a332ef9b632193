#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "program/timetable/task.h"

namespace shardline {

/// In which order each stage of a pipeline does its tasks. Pure data, equal on all ranks. Each chunk has one task of
/// each kind in `kinds` for each micro-batch.
struct Timetable {
  int stages = 1;
  Index micro_batches = 1;
  std::vector<int> place = {};                 ///< by chunk, in the order of the layers: the stage that has it
  std::vector<TaskKind> kinds = {};            ///< F and B; F, I and W; or F alone
  std::vector<std::vector<Task>> orders = {};  ///< by stage
  bool operator==(const Timetable&) const = default;

  int chunks() const { return static_cast<int>(place.size()); }
  int place_of(const Task& task) const { return place[static_cast<std::size_t>(task.chunk)]; }
};

/// True if the gradients of inputs and of weights are tasks of their own.
bool is_split(const Timetable& timetable);

/// The kind of the task of a chunk that is the last to read what F left: B, or W where the timetable is split.
/// F where there is no backward pass.
TaskKind last_kind(const Timetable& timetable);

/// Which tasks of the same micro-batch must be done before `task`, in a plain stack of layers. F needs F of the chunk
/// before. B and I need F of their own chunk, and B or I of the chunk after. W needs I of its own chunk.
std::vector<ChunkTask> needs(const Timetable& timetable, const ChunkTask& task);

/// The timetable of an evaluation: the forward tasks of `timetable`, each stage's in the same order.
Timetable forward_only(Timetable timetable);

/// The name of a task: "F0" is F of micro-batch 0. Where stages have several chunks, a letter says which of the stage's
/// chunks it is: "F0b" is F of the second one.
std::string to_string(const Timetable& timetable, const Task& task);

/// True if the timetable has this task: its kind, chunk and micro-batch exist.
bool has_task(const Timetable& timetable, const Task& task);

/// A number of each chunk's task, and of each task, below the count that follows it: for arrays indexed by tasks. The
/// task must exist.
std::size_t number_of(const Timetable& timetable, const ChunkTask& task);
std::size_t chunk_task_count(const Timetable& timetable);
std::size_t number_of(const Timetable& timetable, const Task& task);
std::size_t task_count(const Timetable& timetable);

}  // namespace shardline
