#pragma once

#include <string>
#include <vector>

#include "models/strategy/auto_strategy.h"
#include "tools/training/train_options.h"

namespace shardline::tools {

/// A run with its strategy, before it holds an array.
struct ChosenPlan {
  TrainingPlan plan;
  std::vector<PricedStrategy> priced;  ///< if prices chose the strategy: all strategies, cheapest first
};

/// Collective over all ranks: the plan of a run. Prices choose the cheapest strategy that fits the machine, unless the
/// flags name one. Refuses a run that does not fit, before it allocates anything. The message says which smaller batch
/// and which strategy would fit. Throws UsageError for arrays that cannot be counted, also without the memory check.
ChosenPlan plan_that_fits(const Job& job, const TrainOptions& options);

/// "built-in prices" or "prices of machine NAME": those that decide.
std::string source_of_prices(const Job& job);

/// The cheapest strategies with their prices. Empty if the strategy was named.
std::string choice_text(const Job& job, const ChosenPlan& planned);

}  // namespace shardline::tools
