#pragma once

#include <optional>

#include "kernels/rope.h"
#include "program/ops/table.h"

namespace shardline {

/// Rotary embedding over dims T and H, in the rotate-half layout of Hugging Face. H stays whole. The constants of the
/// operation are `theta` and, with a scaling, its numbers by name.
ArrayId rope(Program& program, const std::string& name, ArrayId x, double theta,
             const std::optional<kernels::RopeScaling>& scaling = {});

/// The row of this operation in operation_kinds().
OperationKind rope_kind();

}  // namespace shardline
