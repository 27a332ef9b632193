#pragma once

#include "kernels/adamw.h"
#include "program/ops/table.h"

namespace shardline {

/// Operands of adamw(); the last three are scalars.
struct AdamWOperands {
  ArrayId parameter = -1;
  ArrayId gradient = -1;
  ArrayId first_moment = -1;
  ArrayId second_moment = -1;
  ArrayId norm_squared = -1;  ///< of the whole gradient, for clipping
  ArrayId learning_rate = -1;
  ArrayId step = -1;  ///< counts from 1
};

/// One AdamW step. The new parameter and moments have the old names with a prime, and become
/// Program::updates. They take the memory of the old ones, unless another step still reads these.
/// It has no derivative.
void adamw(Program& program, const AdamWOperands& operands, const kernels::AdamWOptions& options);

/// The row of this operation in operation_kinds().
OperationKind adamw_kind();

}  // namespace shardline
