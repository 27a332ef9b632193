#pragma once

#include <string>
#include <vector>

#include "models/training/training_plan.h"
#include "runtime/base/units.h"

namespace shardline {

/// What a search may change in a run with stages, and what must fit.
struct PipelineSearch {
  bool timetable = false;
  bool micro_batches = false;  ///< to any divisor of the batch, up to four for each stage
  Bytes memory;                ///< of a rank, for its arrays; 0: not known
};

/// The numbers of micro-batches to try on so many stages: any divisor of the batch, up to four for each stage; without
/// a `search`, the run's own.
std::vector<Index> counts_of_micro_batches(const TrainingRun& run, Index stages, bool search);

/// The timetables to try on so many stages: those that fit the run's numbers of layers; without a `search`, the run's
/// own.
std::vector<std::string> names_of_timetables(const TrainingRun& run, int stages, bool search);

/// The run with the timetable and the number of micro-batches whose simulated step is shortest, of those whose arrays
/// fit in memory on every stage; if none fits, the shortest of all. Of two that take equally long, the one
/// of fewer micro-batches and then the first in the order of timetable_rows(). Pure; equal on all ranks. Throws
/// UsageError as plan_training().
TrainingRun fastest_pipeline(const TrainingRun& run, const AbstractMesh& mesh, const PipelineSearch& search);

}  // namespace shardline
