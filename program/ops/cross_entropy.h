#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The sum over the tokens of the negative log likelihood of labels[B,T] under logits[B,T,V], divided by the number of
/// all tokens: a scalar. A token with a negative label adds nothing, so that it is the mean only where every label
/// counts. Whoever runs the program knows how many count, and scales the loss and its gradient (see Trainer::step()).
/// If V is split, ranks reduce the maximum, the sum and the picked logit. `parts`: the tokens are one of so many equal
/// parts of a batch, and the number is that of the batch.
ArrayId cross_entropy(Program& program, const std::string& name, ArrayId logits, ArrayId labels, Index parts = 1);

/// The row of this operation in operation_kinds().
OperationKind cross_entropy_kind();

}  // namespace shardline
