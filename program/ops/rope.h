#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Rotary embedding over dims T and H, in the rotate-half layout of Hugging Face. H stays whole.
ArrayId rope(Program& program, const std::string& name, ArrayId x, double theta);

/// The row of this operation in operation_kinds().
OperationKind rope_kind();

}  // namespace shardline
