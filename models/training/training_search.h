#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/strategy/auto_strategy.h"
#include "models/training/training_plan.h"
#include "runtime/base/units.h"

namespace shardline {

/// The least memory of every rank, from sizes alone. Works even if no plan can be made: a plan counts in 64 bits.
Bytes least_training_memory(const TrainingRun& run, const AbstractMesh& mesh);

/// All strategies for a run, each under each of `remats`, as price_strategies() lists them, cheapest first. The run's
/// own strategy and rematerialisation do not matter.
std::vector<PricedStrategy> priced_strategies(const TrainingRun& run, const AbstractMesh& mesh,
                                              const std::vector<Remat>& remats);

/// Advice for a run that does not fit: the largest half, quarter, ... of its batch that fits, the fewest micro-batches,
/// up to 16, with which the whole batch fits, the rematerialisation that repeats least, and the cheapest strategy.
/// `fits` judges a plan. The least memory of the run must be at most kBeyondAnyMachine. Pure; equal on all ranks if
/// `fits` is.
std::string what_would_fit(const TrainingRun& run, const AbstractMesh& mesh,
                           const std::function<bool(const TrainingPlan&)>& fits);

}  // namespace shardline
