#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Rows of table[V,D] at ids[B,T]. If V is split, the result is owed as a sum.
ArrayId embed(Program& program, const std::string& name, ArrayId table, ArrayId ids, Role role = Role::activation);

/// The row of this operation in operation_kinds().
OperationKind embed_kind();

}  // namespace shardline
