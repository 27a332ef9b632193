#pragma once

#include <vector>

#include "program/ir/rank_program.h"

namespace shardline {

/// Computations that run strip by strip.
struct StripSteps {
  std::vector<int> steps;
  Bytes strip;                          ///< of all their arrays together
  std::vector<VersionId> passing = {};  ///< versions of which there is one strip only
};

/// Reuse distances on rank 0, for each operand and then each result of every step: the bytes that
/// rank 0 touches between the last use of that memory and the step. A cache smaller than the
/// distance no longer holds the array. The program runs again and again, so the last use of an
/// operand that no step makes was in the run before. A result takes the memory of the last freed
/// array of its size. If there is none, its distance is a whole run. In `sweeps` an array that an earlier step of the
/// sweep has touched is one strip away.
std::vector<std::vector<Bytes>> reuse_distances(const RankProgram& program, const std::vector<StripSteps>& sweeps = {});

}  // namespace shardline
