#pragma once

#include "program/ir/rank_program.h"

namespace shardline {

/// Re-derives every step's layouts from the operation's facts alone, without the partitioner's code, and throws Error
/// that names the offending step and the reason: a value read before it is made, an axis that splits two indices or an
/// index that must stay whole, operands that lie differently on an index, a debt that meets an operation not linear in
/// it or a reduced operand, a debt lost or invented, a collective whose result is not what it makes, an array of
/// another array's dims. Versions of inputs, outputs and updated state must rest in their declared layouts with nothing
/// owed beyond them.
void check(const RankProgram& program);

}  // namespace shardline
