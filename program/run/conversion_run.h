#pragma once

#include "collectives/run/progress.h"
#include "program/ir/rank_program.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// Starts `step`, a conversion between ranks. Collective over the axes of `step`. `in` and `out`
/// are this rank's blocks of operand and result. They may share storage in an all_reduce. `uniform`: see
/// collectives::Options; of an all_reduce.
collectives::Handle start_conversion(collectives::Engine& engine, const RankProgram& program, const Step& step,
                                     const Tensor& in, Tensor& out, bool uniform = false);

/// A conversion that moves nothing between ranks: a slice or an owe.
void run_local_conversion(const RankProgram& program, const Step& step, Index rank, const Tensor& in, Tensor& out);

}  // namespace shardline
