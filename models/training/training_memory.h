#pragma once

#include "models/training/training_plan.h"
#include "runtime/base/units.h"

namespace shardline {

/// What training takes on one rank: its arrays, by liveness. What MPI and the BLAS keep for themselves is not counted.
struct TrainingMemory {
  Bytes own;    ///< most that the rank holds for itself: while it initialises, steps, evaluates or saves
  Bytes arena;  ///< what it gives to the memory that ranks share, see Trainer
};

/// What every rank takes at least, from sizes alone: it can be known where a plan could not be made.
Bytes least_training_memory(const TransformerConfig& config, const TrainingOptions& options, const AbstractMesh& mesh);

/// More bytes on a rank cannot be had, and shapes of them could not be counted in 64 bits.
inline constexpr Bytes kBeyondAnyMachine{1e14};

/// Of `rank`. `saves`: the weights are saved, for which rank 0 holds all of them. The text that is trained on
/// and weights that were loaded are not counted. Pure; takes no memory of the arrays' size.
TrainingMemory training_memory(const TrainingPlan& plan, Index rank, bool saves);

}  // namespace shardline
