#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/ir/rank_program.h"

namespace shardline {

/// A matrix product in a collective matmul (book section 10.1.2): it runs panel by panel beside a collective. Either
/// the product reads the result of the collective, or the collective reads the result of the product. One dim of the
/// array between the two comes first in memory, and both go over that dim's blocks. Several products may read what one
/// gather brings, such as queries, keys and values: all of them compute a panel before the next one.
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
  Flops work = {};  ///< of all products of the collective matmul: it decides the size of panels
};

/// A collective with all products beside it, in the order of the program.
using FusionGroup = std::vector<Fusion>;

/// The fusions of a program, by the name of the first result of a computation. One that is computed again has the name
/// of the first time.
struct Fusions {
  std::map<std::string, Fusion> products = {};
  std::map<std::string, Flops> rings = {};  ///< computations that take blocks from a ring: RingFusion::panel
};

/// Under this name a step, a computation, stands in Fusions.
const std::string& fusion_name(const RankProgram& program, const Step& step);

/// Fuses `collective` (a reduce_scatter or all_reduce) with `computation`, or an all_gather with all products that read
/// its result in the region of the first, which is `computation`. Empty if that is not possible. A computation must be
/// a product of two arrays with the element type of its result. Nothing else may read the array between them, unless
/// it comes later and the array lies in memory as if nothing were fused.
FusionGroup fusion_of(const RankProgram& program, int collective, int computation);

}  // namespace shardline
