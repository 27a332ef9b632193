#pragma once

#include "program/ops/table.h"

namespace shardline {

/// x / sqrt(mean(x^2) + epsilon) * w over the last dim. If that dim is split, ranks reduce the sums
/// of squares. Linear in w.
ArrayId rms_norm(Program& program, const std::string& name, ArrayId x, ArrayId w, double epsilon);

/// The row of this operation in operation_kinds().
OperationKind rms_norm_kind();

}  // namespace shardline
