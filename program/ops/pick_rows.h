#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Of each sequence in x[B,T,D] the row of the token with wanted[B,T] = 1; zeros without one: [B,D]. If T is split, the
/// result is owed as a sum.
ArrayId pick_rows(Program& program, const std::string& name, ArrayId x, ArrayId wanted, Role role = Role::activation);

/// The row of this operation in operation_kinds().
OperationKind pick_rows_kind();

}  // namespace shardline
