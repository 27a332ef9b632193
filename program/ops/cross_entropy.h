#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The mean over all tokens of the negative log likelihood of labels[B,T] under logits[B,T,V]: a
/// scalar. If V is split, ranks reduce the maximum, the sum and the picked logit. `parts`: the tokens are one of so
/// many equal parts of a batch, and the mean is over the batch.
ArrayId cross_entropy(Program& program, const std::string& name, ArrayId logits, ArrayId labels, Index parts = 1);

/// The row of this operation in operation_kinds().
OperationKind cross_entropy_kind();

}  // namespace shardline
