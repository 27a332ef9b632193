#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Causal attention: q[B,T,K,G,H], k and v[B,T,K,H], whose T is called S here and stays whole, as H does.
ArrayId attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v);

OperationKind attention_kind();

}  // namespace shardline
