#pragma once

#include <string>

#include "models/training/training.h"
#include "models/training/training_plan.h"
#include "tools/job.h"
#include "tools/report/plot.h"

namespace shardline::tools {

/// What `train` says about a mixture of experts.
struct ExpertRecord {
  Experts experts;
  double capacity = 0;  ///< see BatchShape::capacity
  Index places = 0;     ///< of an expert for a sequence
  Routing training;     ///< of all steps of this run
  Routing evaluation;   ///< of the last evaluation
};

/// Collective over all ranks: what the trainer's run routed.
ExpertRecord expert_record(const Trainer& trainer);

/// Throws UsageError if the run has no experts, but a capacity or a role that splits experts.
void require_experts(const TrainingRun& run);

/// Three lines: who was chosen, what was dropped, the closest decision.
std::string routing_text(const ExpertRecord& record);
/// The keys of `experts` in a record.
Json expert_json(const ExpertRecord& record);
/// The choices of each expert over the mean of its layer, a curve for each layer; of many layers, some.
Plot load_plot(const ExpertRecord& record);

}  // namespace shardline::tools
