#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/strategy/auto_strategy.h"
#include "models/training/training.h"
#include "tools/job.h"
#include "tools/report/operation_row.h"
#include "tools/report/page.h"
#include "tools/report/plot.h"
#include "tools/report/timeline_plot.h"
#include "tools/trace/diagnosis.h"
#include "tools/training/experts.h"
#include "tools/training/joined_steps.h"
#include "tools/training/run_steps.h"
#include "tools/training/stage_record.h"

namespace shardline::tools {

/// The result of `shardline train`. It is equal on every rank.
struct TrainRecord {
  Strategy strategy;
  std::vector<PricedStrategy> priced;  ///< under auto: all strategies, cheapest first
  TrainingOptions options;
  TokenOrder token_order = TokenOrder::contiguous;  ///< in which the tokens of a sequence lay
  double tokens_per_step = 0;
  std::string sample_name = "tokens";  ///< what `tokens_per_step` counts: "samples" of an MLP
  Index parameters = 0;
  std::vector<std::string> program;  ///< in notation
  std::vector<JoinedStep> listing;   ///< the lines of the program with their times, if they are shown one by one
  std::string joined;                ///< how the stages were joined; empty without a pipeline
  std::vector<StepResult> steps;
  std::vector<HeldOutLoss> held_out;  ///< of --eval-every
  std::vector<SlowerSteps> slower;
  Index begin = 0;  ///< steps done before them, by the run that is resumed
  bool interrupted = false;
  Comparison comparison;  ///< `measured` is the median step
  Overlap overlap;
  bool needs_the_cores = false;       ///< collectives cannot run beside computation
  std::optional<double> val_loss;     ///< none if the run was interrupted
  std::optional<double> bigram_loss;  ///< of text, beside val_loss
  /// Of text and tokens: the loss of a model that takes every id for equally likely.
  std::optional<double> uniform_loss;
  std::string weights_hash;  ///< after the last step
  Flops flops_per_step;
  double mfu = 0;
  Bytes predicted_memory;
  Bytes measured_memory;
  PipelineRecord pipeline;
  ExpertRecord experts;
};

/// The measured and predicted times of operations, highest ratio first; the whole step and its limits; memory; losses;
/// the listing, if there is one.
std::string result_text(Job& job, const TrainRecord& record);
/// The held-out loss and what it compares with. Empty if the run was interrupted.
std::string loss_text(const TrainRecord& record);
/// Adds the keys of a record that hold for a run without steps too: what ran, its model, and its losses.
void add_model_keys(Json& json, const TrainRecord& record);
/// Adds all keys of a train record.
void add_keys(Json& json, Job& job, const TrainRecord& record);
/// The page of --report.
Page page_of(Job& job, const TrainRecord& record, const TimelineFigure& timeline);

/// The loss by step, and the held-out losses. A long run shows only some of its steps.
Plot loss_plot(const TrainRecord& record);

}  // namespace shardline::tools
