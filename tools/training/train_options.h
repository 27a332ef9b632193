#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/tokens/text_encoder.h"
#include "models/training/pipeline_search.h"
#include "models/training/training.h"
#include "tools/job.h"
#include "tools/training/data_options.h"
#include "tools/training/optimizer_options.h"
#include "tools/training/run_checkpoints.h"

namespace shardline::tools {

/// The command line. Values without a default depend on the model.
struct TrainFlags {
  CommonOptions common;
  std::string strategy;
  std::string model = "tiny";
  bool model_given = false;
  DataFlags data;
  std::optional<Index> steps;
  std::optional<Index> batch;
  std::optional<Index> micro_batches;
  std::string remat;  ///< empty: not given
  std::string timetable = "auto";
  std::string stage_layers;
  bool show_schedule = false;
  std::optional<Index> sequence;
  std::string token_order;  ///< empty: not given
  std::optional<double> capacity;
  std::string size;
  std::string activation;
  OptimizerFlags optimizer;
  bool keep_parameters = false;
  std::optional<bool> regather_activations;
  ScheduleFlags schedule;
  std::string save;
  std::string load;
  CheckpointFlags checkpoints;
  std::string log;
  std::string plot;
  std::optional<Index> evaluate_every;
  std::string trace;
  std::string report;
};

/// A run of `train`: its flags and files, read and checked.
struct TrainOptions {
  TrainingRun run;               ///< without a strategy if prices choose it
  bool chooses = false;          ///< prices choose the strategy
  bool shows_schedule = false;   ///< of the stages, before the first step
  PipelineSearch pipeline = {};  ///< what of the stages the prices choose
  bool chooses_remat = false;    ///< and what the backward pass computes again
  bool fits_memory = true;       ///< the choice must fit the machine
  DataOptions data = {};
  std::string tokenizer_path;                   ///< empty: there is none
  bool tokenizer_given = false;                 ///< on the command line
  std::shared_ptr<TextEncoder> tokenizer = {};  ///< null: there is none
  Bytes text_memory;                            ///< memory of the text on a rank, beside its arrays
  std::string save;                             ///< folder; empty for none, as the files below
  CheckpointOptions checkpoints = {};
  std::string log;
  std::string plot;
  Index evaluate_every = 0;  ///< see RunOutputs
  std::string trace;
  std::string report;
};

/// The options on the command line. `flags` must outlive the parsing.
void add_train_options(CLI::App& command, TrainFlags& flags);

/// Collective over all ranks: the options that need no file. A model that reads text has, without --data, the project's
/// own sources and documentation, which rank 0 finds. Throws UsageError.
TrainOptions typed_options(const TrainFlags& flags);

/// All files of the command.
CommandFiles files_of(const TrainFlags& flags, const DataOptions& data);

/// Collective over all ranks: adds the strategy, the model and the prices. They need files and the ranks of `job`.
/// Throws UsageError if these ranks cannot train the run.
void read_options(const TrainFlags& flags, const Job& job, TrainOptions& options);

}  // namespace shardline::tools
