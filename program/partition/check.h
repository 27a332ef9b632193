#pragma once

#include "program/ir/rank_program.h"

namespace shardline {

/// Derives the layouts of every step again, from the operation alone and without the partitioner's
/// code. Throws Error with step and reason for: a value read before it is made; an axis that splits
/// two indices, or an index that must stay whole; operands with different layouts on an index; a
/// debt where the operation is not linear, or beside a reduced operand; a debt lost or invented; a
/// collective with a wrong result; an array with the dims of another; element types that the kernel
/// does not run on (see KernelTypes). Inputs, outputs and updated
/// state must have their declared layouts and owe nothing more.
void check(const RankProgram& program);

}  // namespace shardline
