#pragma once

#include <vector>

#include "models/strategy/auto_strategy.h"
#include "models/training/pipeline_search.h"

namespace shardline {

/// Every way to make one axis of `mesh` into stages, one for each layer at most, and to give the other axes roles;
/// under each of `remats`. Ways that only swap neighbouring axes that are alike() appear once. Each with the timetable
/// and the number of micro-batches whose simulated step is shortest, of those that fit in `search.memory`; if none
/// fits, the shortest of all. Operations are assigned by the table. The run's own strategy and rematerialisation do not
/// matter. Pure; equal on all ranks.
std::vector<PricedStrategy> priced_pipelines(const TrainingRun& run, const AbstractMesh& mesh,
                                             const std::vector<Remat>& remats, const PipelineSearch& search);

}  // namespace shardline
