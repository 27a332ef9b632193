#pragma once

#include "tools/training/train_options.h"

namespace shardline::tools {

/// Steps of the model mlp without --steps.
inline constexpr Index kMlpSteps = 20;

/// Adds --size and --activation. `flags` must outlive the parsing.
void add_mlp_options(CLI::App& command, TrainFlags& flags);

/// True if the model is the book's MLP.
bool trains_mlp(const TrainFlags& flags);

/// Gives `run` the model, the batch and the learning rate of the MLP. Without --lr the rate follows from the sizes.
/// Throws UsageError for a bad size or activation, and for options of models that read text.
void give_mlp(const TrainFlags& flags, TrainingRun& run);

/// Throws UsageError for a role that splits sequences: an MLP has none.
void check_strategy_of_mlp(const Strategy& strategy);

}  // namespace shardline::tools
