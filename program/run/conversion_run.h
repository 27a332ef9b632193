#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "program/ir/rank_program.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// This rank's blocks of the operands and the result of a conversion.
struct ConversionBlocks {
  std::vector<const Tensor*> in;  ///< the array; with moves_rows() also the rows in use before and after
  Tensor* out = nullptr;          ///< may share storage with the array in an all_reduce
};

/// Starts `step`, a conversion between ranks. Collective over the axes of `step`. `uniform`: see
/// collectives::Options; of an all_reduce.
collectives::Handle start_conversion(collectives::Engine& engine, const RankProgram& program, const Step& step,
                                     const ConversionBlocks& blocks, bool uniform = false);

/// A conversion that moves nothing between ranks: a slice or an owe.
void run_local_conversion(const RankProgram& program, const Step& step, Index rank, const Tensor& in, Tensor& out);

}  // namespace shardline
