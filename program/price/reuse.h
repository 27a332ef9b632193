#pragma once

#include <vector>

#include "program/ir/rank_program.h"

namespace shardline {

/// Reuse distances on rank 0: for every step, and each of its operands and then each of its results, the bytes that
/// rank 0 touches between the last use of that memory and the step. A cache smaller than the distance no longer holds
/// the array. The program runs again and again, so an operand that a run does not make was last used in the run before.
/// A result takes the memory of the array of its size that was freed last. If there is none, its distance is a whole
/// run.
std::vector<std::vector<Bytes>> reuse_distances(const RankProgram& program);

}  // namespace shardline
