#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Sum of arrays of the same dims; linear in all together.
ArrayId add(Program& program, const std::string& name, const std::vector<ArrayId>& terms, Role role = Role::activation);

/// The same into an existing array.
void add_into(Program& program, const std::vector<ArrayId>& terms, ArrayId result);

/// The row of this operation in operation_kinds().
OperationKind add_kind();

}  // namespace shardline
