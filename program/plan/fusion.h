#pragma once

#include <map>
#include <optional>
#include <string>

#include "program/ir/rank_program.h"

namespace shardline {

/// A collective matmul (book section 10.1.2). A matrix product runs panel by panel beside a collective. Either the
/// product reads the result of the collective, or the collective reads the result of the product. One dim of the array
/// between the two comes first in memory, and both go over that dim's blocks.
struct Fusion {
  int collective = -1;      ///< step number; -1: the product runs alone, panel by panel
  int computation = -1;     ///< step number
  Axes axes = {};           ///< of the collective
  bool gathers = false;     ///< the collective feeds the computation; else the computation feeds a reduction
  std::size_t operand = 0;  ///< if it gathers: the operand of the computation that arrives
  int dim = 0;              ///< of the array between the two: panels cut this dim
  int index = 0;            ///< of the operation: the index of that dim
  bool contracted = false;  ///< panels are summed: the result lacks the index
  /// Panels are summed in ascending order, because several ranks make the same element. Otherwise
  /// they are summed in the order of arrival.
  bool in_coordinate_order = false;
};

/// Fusions by the name of the product's result. A product that is computed again has the name of the first time.
using Fusions = std::map<std::string, Fusion>;

/// Under this name the fusion of the step, a computation, stands in Fusions.
const std::string& fusion_name(const RankProgram& program, const Step& step);

/// Fuses `collective` (an all_gather, reduce_scatter or all_reduce) with `computation`, if
/// possible. The computation must be a product of two arrays with the element type of its result.
/// Nothing else may read the array between them.
std::optional<Fusion> fusion_of(const RankProgram& program, int collective, int computation);

}  // namespace shardline
