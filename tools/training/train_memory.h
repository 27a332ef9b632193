#pragma once

#include <string>
#include <vector>

#include "models/training/training_plan.h"
#include "tools/job.h"

namespace shardline::tools {

/// A training run whose memory is counted.
struct CountedRun {
  const TransformerConfig& config;
  Bytes text;          ///< that a rank holds beside its arrays, see text_memory()
  bool saves = false;  ///< its weights
};

/// Collective over `world`; rank 0 looks. Bytes that the text of these files takes on a rank: once for good, and twice
/// more while it is read.
Bytes text_memory(const mpi::Communicator& world, const std::vector<std::string>& files);

/// Collective over all ranks: refuses a model of which the ranks together cannot hold the weights and their moments,
/// before a program is made of it.
void require_memory_for_weights(const Job& job, const TransformerConfig& config);

/// Collective over all ranks: the plan of a run. Refuses a run that does not fit, before anything is allocated, and
/// says which smaller batch and which strategy would fit.
TrainingPlan plan_that_fits(const Job& job, const CountedRun& run, const TrainingOptions& options,
                            const Strategy& strategy);

}  // namespace shardline::tools
