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

/// Collective over all ranks: checks what is typed before any file is read. Returns the files to train on: those
/// given, or the project's own sources and documentation, found by rank 0. Throws UsageError.
std::vector<std::string> checked_texts(const TrainFlags& flags);

/// All files of the command.
CommandFiles files_of(const TrainFlags& flags, const std::vector<std::string>& texts);

/// Collective over all ranks: reads the model. Throws UsageError for what cannot be trained on the ranks of `job`.
TrainOptions read_options(const TrainFlags& flags, const std::vector<std::string>& texts, const Job& job);

}  // namespace shardline::tools
