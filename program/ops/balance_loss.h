#pragma once

#include "program/ops/table.h"

namespace shardline {

/// What uneven routing of one layer adds to the loss: `weight` times the mean over the sequences of E sum_e f_e P_e.
/// f_e is how many of a sequence's tokens chose expert e, over T; P_e the mean of its probs[B, T, R]. It is k if all
/// experts are chosen alike. load[B, R] counts the choices. A sum over sequences, so it depends on no mesh and no
/// micro-batch; the mean is over `parts` batches of this shape. A scalar that owes a sum where B or T is split.
ArrayId balance_loss(Program& program, const std::string& name, ArrayId probs, ArrayId load, double weight,
                     Index parts = 1);

/// The row of this operation in operation_kinds().
OperationKind balance_loss_kind();

}  // namespace shardline
