#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Causal attention: q[B,T,K,G,H], k and v[B,T,K,H]. The T of keys is called S here. S and H stay
/// whole. positions[T] says where each token stands in its sequence, and starts[B,T], if given, where the document of
/// the token begins, see kernels::AttentionPlaces. `balanced` is for prices only, see kernels::AttentionShare.
ArrayId attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v, ArrayId positions,
                  ArrayId starts = -1, bool balanced = false);

/// The row of this operation in operation_kinds().
OperationKind attention_kind();

}  // namespace shardline
