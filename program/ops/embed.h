#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Rows of table[V,D] at ids[B,T]; a split V owes.
ArrayId embed(Program& program, const std::string& name, ArrayId table, ArrayId ids, Role role = Role::activation);

OperationKind embed_kind();

}  // namespace shardline
