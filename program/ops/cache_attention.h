#pragma once

#include "program/ops/table.h"

namespace shardline {

/// What an operation of attention over a cache is told beside its arrays.
struct CacheAttentionOptions {
  /// Axes may split the places S: the operation has phases between which the largest scores are agreed on, and owes
  /// sums that cache_divide() needs. If not, S stays whole, and a call reads the cache once.
  bool split_places = false;
  double seen = 1;  ///< the share of the places that a query is expected to see; prices count it
};

/// Attention of q[B,T,K,G,H] over caches k and v [B,S,K,H] that hold its own key already: a query sees the places with
/// where[S] <= at[B,T]. q, k, v and the result have one type, which need not be that of the program; sums are in
/// sum_type() of it. S and H stay whole, but see CacheAttentionOptions::split_places: then the division is an
/// operation "cache_divide" of its own, so that a row of the strategy table can say where its result is wanted.
ArrayId cache_attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v, ArrayId at,
                        ArrayId where, const CacheAttentionOptions& options);

/// The rows of these operations in operation_kinds().
OperationKind cache_attention_kind();
OperationKind cache_divide_kind();

}  // namespace shardline
