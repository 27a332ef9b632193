#pragma once

#include <vector>

#include "program/ir/element_types.h"
#include "program/ir/rank_program.h"

namespace shardline {

/// For every step, bytes touched on rank 0 between the last use of the memory of each of its operands, then of each of
/// its results, and the step; in step order and over runs of the program one after another. An operand that a run does
/// not make was last used in the run before. A result takes the memory of the array of its size that was freed last, or
/// memory that nobody has used for as long as a run takes. A cache that holds no more than that does not hold the
/// array.
std::vector<std::vector<Bytes>> reuse_distances(const RankProgram& program, const ElementTypes& types);

}  // namespace shardline
