#pragma once

#include <optional>
#include <string>

#include "models/checkpoint/training_checkpoint.h"
#include "models/training/training.h"
#include "tools/job.h"

namespace shardline::tools {

/// What the command line says of the checkpoints of a run.
struct CheckpointFlags {
  std::optional<Index> every;
  std::optional<Index> keep;
  std::string resume;
};

/// The same, checked.
struct CheckpointOptions {
  Index every = 0;             ///< steps from one to the next; 0: only when asked
  CheckpointFolder folder;     ///< empty path: none are saved
  std::string resume;          ///< folder; empty: the run begins at its first step
  RunSettings resumed = {};    ///< of the checkpoint that is resumed
  bool reads_bytes = false;    ///< the run reads text as bytes
  std::string tokenizer = {};  ///< the text of the tokenizer.json that goes along; empty: none
};

/// Adds the options. `flags` must outlive the parsing.
void add_checkpoint_options(CLI::App& command, CheckpointFlags& flags);

/// `save` is the folder of the run. Throws UsageError if there is none and checkpoints are wanted.
CheckpointOptions checkpoint_options(const CheckpointFlags& flags, const std::string& save);

/// What of a run must be the same when it goes on.
RunSettings settings_of(const TrainingOptions& options, const std::string& data);

/// Throws UsageError if the run is not the one whose checkpoint is resumed, or has no step left.
void require_same_run(const CheckpointOptions& options, const TrainingRun& run, const RunSettings& settings);

/// What is noted beside the weights of a run.
TrainingNotes notes_of(const Job& job, const Trainer& trainer, const CheckpointOptions& options);

/// Saves the checkpoints of a run.
class RunCheckpoints {
 public:
  RunCheckpoints(const Job& job, const Trainer& trainer, CheckpointOptions options, RunSettings settings);

  /// Collective over all ranks, after each step: saves if it is time, if a signal asked for it, or if the run ends
  /// here. `step` counts from 0. Throws ResultError if a parameter is not finite, and as save_step().
  void after(Index step, const StepResult& result, bool ends);

 private:
  void save(Index steps);

  const Job& job_;
  const Trainer& trainer_;
  CheckpointOptions options_;
  RunSettings settings_;
};

}  // namespace shardline::tools
