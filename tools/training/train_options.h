#pragma once

#include <string>
#include <vector>

#include "models/training/training.h"
#include "tools/job.h"

namespace shardline::tools {

/// What people type.
struct TrainFlags {
  CommonOptions common;
  std::string strategy;
  std::string model = "tiny";
  std::vector<std::string> data;
  Index steps = 400;
  Index batch = 8;
  Index sequence = 128;
  double learning_rate = 3e-3;
  bool keep_parameters = false;
  bool regather_activations = false;
  ScheduleFlags schedule;
  std::string save;
  std::string load;
  std::string trace;
  std::string report;
};

/// A run of `train`: what was typed, read and checked.
struct TrainOptions {
  TrainingRun run;          ///< without a strategy when prices choose it
  bool chooses = false;     ///< prices choose the strategy
  bool fits_memory = true;  ///< what they choose must fit the machine
  std::vector<std::string> texts;
  Bytes text_memory;  ///< that a rank holds beside its arrays
  std::string save;   ///< folder; empty for none, as the files below
  std::string trace;
  std::string report;
};

/// The options on the command line. `flags` must outlive the parsing.
void add_train_options(CLI::App& command, TrainFlags& flags);

/// Collective over all ranks: what the flags say before any file is read. Without --data rank 0 finds the project's own
/// sources and documentation. Throws UsageError.
TrainOptions typed_options(const TrainFlags& flags);

/// All files of the command.
CommandFiles files_of(const TrainFlags& flags, const std::vector<std::string>& texts);

/// Collective over all ranks: adds what the ranks of `job` and the files say: strategy, model, prices. Throws
/// UsageError for what cannot be trained on these ranks.
void read_options(const TrainFlags& flags, const Job& job, TrainOptions& options);

}  // namespace shardline::tools
