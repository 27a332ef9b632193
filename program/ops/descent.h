#pragma once

#include "program/ops/table.h"

namespace shardline {

/// One step of plain gradient descent: parameter - learning_rate * gradient, without clipping. The learning rate is a
/// scalar. The new parameter has the old name with a prime, and becomes one of Program::updates. It takes the memory of
/// the old one, unless another step still reads it. It has no derivative.
void descent(Program& program, ArrayId parameter, ArrayId gradient, ArrayId learning_rate);

/// The row of this operation in operation_kinds().
OperationKind descent_kind();

}  // namespace shardline
