#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Mean over all tokens of the negative log likelihood of labels[B,T] under logits[B,T,V]: a scalar. A split V reduces
/// maximum, sum and picked logit.
ArrayId cross_entropy(Program& program, const std::string& name, ArrayId logits, ArrayId labels);

OperationKind cross_entropy_kind();

}  // namespace shardline
