#pragma once

#include <vector>

#include "program/element_types.h"
#include "program/rank_program.h"

namespace shardline {

/// For every step, bytes touched on rank 0 between the last use of each of its operands and the step, in step order and
/// over runs of the program one after another: an operand that a run does not make was last used in the run before.
/// A cache that holds no more than that does not hold the operand.
std::vector<std::vector<Bytes>> reuse_distances(const RankProgram& program, const ElementTypes& types);

}  // namespace shardline
