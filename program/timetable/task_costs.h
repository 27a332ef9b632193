#pragma once

#include <string>
#include <vector>

#include "program/timetable/timetable.h"
#include "runtime/base/units.h"

namespace shardline {

/// What tasks and moves take. The vectors have an entry for each chunk; those of kinds that a timetable does not have
/// may stay empty. B stands for itself: it need not be I + W.
struct TaskCosts {
  std::vector<Seconds> forward = {};
  std::vector<Seconds> backward = {};
  std::vector<Seconds> inputs = {};
  std::vector<Seconds> weights = {};
  /// From a stage to another one, for what one task makes. Tasks of one stage hand things over for nothing.
  Seconds move = {};
  /// True: data moves while the stages compute; a move is a delay between its maker's end and its reader's begin.
  /// False: the receiving stage itself moves the data, just before the task that needs it.
  bool frees_cores = true;
};

/// The costs of one kind, by chunk.
const std::vector<Seconds>& costs_of(const TaskCosts& costs, TaskKind kind);

/// Throws UsageError unless `time`, which `of` takes, is finite and 0 or more.
void check_task_time(Seconds time, const std::string& of);

/// Throws UsageError unless `costs` has a finite time, 0 or more, for each of the kinds and for each of the `chunks`,
/// and for a move.
void check_costs(const TaskCosts& costs, const std::vector<TaskKind>& kinds, int chunks);

}  // namespace shardline
