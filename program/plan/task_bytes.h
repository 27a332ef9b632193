#pragma once

#include <set>
#include <vector>

#include "program/cut/cut.h"
#include "program/plan/liveness.h"
#include "program/timetable/chunk_bytes.h"

namespace shardline {

/// What the tasks of a cut hold on rank 0, which has the largest blocks, by chunk. `live` says when the program of the
/// micro-batch frees its arrays: what its schedule gathers ahead counts as work of the chunk that reads it. Inputs and
/// step_arrays() are not counted. The work while I or W runs is that of B without what I leaves for W.
ChunkBytes chunk_bytes(const Cut& cut, const Liveness& live);

/// An array that a stage holds from task to task of a whole step.
struct StepArray {
  Role role = Role::parameter;  ///< parameter, optimizer_state, or gradient: a gradient, or a sum of gradients
  std::set<int> chunks;         ///< those whose stages hold it
  Bytes bytes;                  ///< on rank 0
};

/// The parameters, the state of the optimizer, and what the update reads of the backward pass. The cut has a stage for
/// each chunk (see layers_apart()).
std::vector<StepArray> step_arrays(const Cut& cut);

}  // namespace shardline
