#pragma once

#include <optional>

#include "kernels/rope.h"
#include "program/ops/table.h"

namespace shardline {

/// Rotary embedding over dims T and H, in the rotate-half layout of Hugging Face. H stays whole. The token at t turns
/// by positions[t], or with starts[B,T] by positions[t] - starts[b,t]. Positions may also be [B,T], without starts; see
/// kernels::RopeOptions. The constants of the
/// operation are `theta` and, with a scaling, its numbers by name.
ArrayId rope(Program& program, const std::string& name, ArrayId x, ArrayId positions, double theta,
             const std::optional<kernels::RopeScaling>& scaling = {}, ArrayId starts = -1);

/// The row of this operation in operation_kinds().
OperationKind rope_kind();

}  // namespace shardline
