#pragma once

#include <optional>
#include <string>

#include "models/training/training_plan.h"
#include "tools/job.h"

namespace CLI {
class App;
}  // namespace CLI

namespace shardline::tools {

/// What the command line says of the optimizer and the learning rate. What is not given has a default.
struct OptimizerFlags {
  std::string name = "adamw";
  std::optional<double> learning_rate;
  std::optional<double> least_rate;
  std::optional<Index> warmup;
  std::optional<double> clip;
  std::optional<double> weight_decay;
  std::string betas;  ///< empty: not given
  bool decays_all = false;
};

/// Adds the options. `flags` must outlive the parsing.
void add_optimizer_options(CLI::App& command, OptimizerFlags& flags);

/// Throws UsageError for an unknown name, betas outside [0, 1), and options of AdamW with plain descent.
Optimizer optimizer_of(const OptimizerFlags& flags);

/// Sets the learning rate, `usual` where none is given, and how it rises and falls over the steps of `options`. Throws
/// UsageError if it would fall to more than it is.
void give_rates(const OptimizerFlags& flags, double usual, TrainingOptions& options);

/// What a record says of the optimizer.
Json optimizer_json(const TrainingOptions& options);

}  // namespace shardline::tools
