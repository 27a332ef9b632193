#pragma once

#include <optional>

#include "program/ir/rank_program.h"

namespace shardline {

/// A collective matmul (book section 10.1.2). A matrix product runs panel by panel beside a collective. Either the
/// product reads the result of the collective, or the collective reads the result of the product. One dim of the array
/// between the two comes first in memory, and both go over that dim's blocks.
struct Fusion {
  int collective = -1;      ///< number of the step
  int computation = -1;     ///< number of the step
  bool gathers = false;     ///< the collective feeds the computation; else the computation feeds a reduction
  std::size_t operand = 0;  ///< gathers: which operand of the computation arrives
  int dim = 0;              ///< of the array between the two: the dim that panels cut
  int index = 0;            ///< of the operation: the index of that dim
  bool contracted = false;  ///< panels are summed: the index is not in the result
  /// Panels are summed in ascending order, since several ranks make the same element; otherwise in the order in which
  /// the blocks come.
  bool in_coordinate_order = false;
};

/// How `collective` (an all_gather, reduce_scatter or all_reduce) and `computation` become one, if they can: a product
/// of two arrays whose elements are of the type of its result, and an array between the two that nothing else reads.
std::optional<Fusion> fusion_of(const RankProgram& program, int collective, int computation);

}  // namespace shardline
