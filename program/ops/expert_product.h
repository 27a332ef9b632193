#pragma once

#include "program/ops/table.h"

namespace shardline {

/// y[E, B, C, J] = x[E, B, C, I] W[E, I, J] for the places that taken[E, B] counts; see kernels/experts/expert_product.
/// The last dim of `w` is that of the result.
ArrayId expert_product(Program& program, const std::string& name, ArrayId x, ArrayId w, ArrayId taken);

/// The row of this operation in operation_kinds().
OperationKind expert_product_kind();

}  // namespace shardline
