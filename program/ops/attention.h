#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Causal attention: q[B,T,K,G,H], k and v[B,T,K,H]. The T of keys is called S here. S and H stay
/// whole.
ArrayId attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v);

/// The row of this operation in operation_kinds().
OperationKind attention_kind();

}  // namespace shardline
