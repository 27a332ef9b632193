#pragma once

#include <string>

#include "models/training/training.h"
#include "models/training/training_plan.h"
#include "tools/job.h"
#include "tools/report/plot.h"
#include "tools/trace/diagnosis.h"

namespace shardline::tools {

/// What `train` says about a mixture of experts.
struct ExpertRecord {
  Experts experts;
  double capacity = 0;         ///< see BatchShape::capacity
  Index places = 0;            ///< of an expert for a sequence
  std::vector<Range> blocks;   ///< the experts of a layer that each rank computes
  double share_with_room = 1;  ///< of the choices, if all experts are chosen alike: what prices count
  Routing training;            ///< of all steps of this run
  Routing evaluation;          ///< of the last evaluation
};

/// Collective over all ranks: what the trainer's run routed.
ExpertRecord expert_record(const Trainer& trainer);

/// Throws UsageError if the run has no experts, but a capacity or a role that splits experts.
void require_experts(const TrainingRun& run);

/// The places that the busiest rank computed in training, over those that prices count, as a mean over the layers.
double places_over_even(const ExpertRecord& record);
/// The predicted time of a step by what was routed: computations of experts take places_over_even() times as long.
Seconds predicted_as_routed(const ExpertRecord& record, const Comparison& comparison);

/// Some lines: who was chosen, what was dropped, the closest decision; the prediction by what was routed, if there is a
/// comparison.
std::string routing_text(const ExpertRecord& record, const Comparison& comparison);
/// The keys of `experts` in a record.
Json expert_json(const ExpertRecord& record, const Comparison& comparison);
/// The choices of each expert over the mean of its layer, a curve for each layer; of many layers, some.
Plot load_plot(const ExpertRecord& record);

}  // namespace shardline::tools
