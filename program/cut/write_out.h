#pragma once

#include <map>
#include <optional>
#include <vector>

#include "program/cut/cut.h"
#include "program/ir/rank_program.h"
#include "program/timetable/moves.h"

namespace shardline {

/// A program that runs several micro-batches and one update.
struct WrittenOut {
  RankProgram program;
  /// For each micro-batch: its own array for each input that holds its samples, tokens or stream, if the stage reads
  /// it.
  std::vector<std::map<ArrayId, ArrayId>> samples;
  /// By step of the program: the task that it belongs to; of a move, the task that made what is moved. None: the
  /// update.
  std::vector<std::optional<Task>> tasks;
};

/// Writes out a training step of `micro_batches` micro-batches from the checked program of one, made by accumulate():
/// its forward and backward passes as often as that, then its update. A sum goes from one micro-batch to the next; the
/// first part is the first sum. Sums are no inputs any more. What pays the debts of a sum starts after the last
/// micro-batch has added its part, and not before. No layout changes. Pure; the same on all ranks. Throws UsageError
/// below 1.
WrittenOut write_out(const RankProgram& micro, Index micro_batches);

/// One stage of a pipeline in a step.
struct StageOfStep {
  Axis axis;  ///< of the stages
  int stage = 0;
  Index micro_batches = 1;
  const StageEvents& events;  ///< of all stages, proven
};

/// The same for one stage of a pipeline: its tasks and moves in the order of `events`, then its part of the update. It
/// holds the inputs that lie on the stage, and updates those. Every scalar output is on all stages.
WrittenOut write_out(const Cut& cut, const StageOfStep& place);

}  // namespace shardline
