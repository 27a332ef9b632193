#pragma once

#include "models/training.h"
#include "runtime/base/units.h"

namespace shardline {

/// What training takes on one rank: its arrays, by liveness. What MPI and the BLAS keep for themselves is not counted.
struct TrainingMemory {
  Bytes own;    ///< most that the rank holds for itself: while it initialises, steps, evaluates or saves
  Bytes arena;  ///< what it gives to the memory that ranks share, see Trainer
};

/// Of `rank` on `mesh`. `saves`: the weights are saved, for which rank 0 holds all of them. The text that is trained on
/// and weights that were loaded are not counted. Pure; takes no memory of the arrays' size.
TrainingMemory training_memory(const TransformerConfig& config, const TrainingOptions& options,
                               const Strategy& strategy, const AbstractMesh& mesh, Index rank, bool saves);

}  // namespace shardline
