#pragma once

#include "program/ops/table.h"

namespace shardline {

/// x / sqrt(mean(x^2) + epsilon) * w over the last dim; a split last dim reduces the sums of squares. Linear in w.
ArrayId rms_norm(Program& program, const std::string& name, ArrayId x, ArrayId w, double epsilon);

OperationKind rms_norm_kind();

}  // namespace shardline
