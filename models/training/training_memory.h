#pragma once

#include "models/training/training_plan.h"
#include "runtime/base/units.h"

namespace shardline {

/// The memory of training on one rank: its arrays, by liveness. Does not count the memory of MPI and the BLAS
/// themselves.
struct TrainingMemory {
  Bytes own;    ///< the most that the rank holds for itself while it initialises, steps, evaluates or saves
  Bytes arena;  ///< its part of the shared memory, see Trainer
};

/// The memory of `rank` of a stage. Does not count the training text. Pure; does not allocate the arrays.
TrainingMemory training_memory(const TrainingPlan& plan, int stage, Index rank);

}  // namespace shardline
