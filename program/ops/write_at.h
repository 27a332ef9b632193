#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The cache[B,S,K,H] with the values[B,T,K,H] of some tokens, written in place: the token at t of a sequence goes to
/// the place that holds position at[B,T]; -1 writes nothing. where[S] says which position each place holds. T stays
/// whole: a value must meet the rank that has its place. S may be split: nothing is summed over it. The result is the
/// cache's update.
ArrayId write_at(Program& program, const std::string& name, ArrayId cache, ArrayId values, ArrayId at, ArrayId where);

/// The row of this operation in operation_kinds().
OperationKind write_at_kind();

}  // namespace shardline
