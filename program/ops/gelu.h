#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The tanh form of GELU: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
ArrayId gelu(Program& program, const std::string& name, ArrayId x);

/// The row of this operation in operation_kinds().
OperationKind gelu_kind();

}  // namespace shardline
