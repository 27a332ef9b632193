#pragma once

#include <vector>

#include "kernels/attention/attention.h"

namespace shardline::kernels {

/// Which keys each query of a sequence sees. Queries and keys go by number, in ascending order of their positions. So
/// the keys that a query sees are neighbours, and so are the queries that see a key, whatever the order of the arrays.
class Sight {
 public:
  /// T queries and S keys of B sequences, seen from the first sequence. Throws Error if the shapes of `places` differ.
  Sight(const AttentionPlaces& places, Index B, Index T, Index S);

  /// Goes on to sequence `b`.
  void enter(Index b);

  /// Where a query lies along T, and a key along S.
  Index query(Index number) const { return queries_[static_cast<std::size_t>(number)]; }
  Index key(Index number) const { return keys_[static_cast<std::size_t>(number)]; }
  /// The first key from `number` on, but before `end`, that does not lie right behind the key before it; or `end`.
  Index end_of_stretch(Index number, Index end) const;

  /// The keys among `keys` that a query sees. {0, 0} if there are none.
  Range seen(Index query, Range keys) const;
  /// The keys among `keys` that lie between those that `queries` see: at least from the first to the last that one of
  /// them sees. {0, 0} if there are none.
  Range seen(Range queries, Range keys) const;
  /// The queries among `queries` from the first to the last that see one of `keys`. {0, 0} if there are none.
  Range seeing(Range queries, Range keys) const;

 private:
  void note_order();

  AttentionPlaces places_;
  std::vector<Index> queries_, keys_;        ///< in ascending order of their positions
  std::vector<std::int32_t> key_positions_;  ///< ascending
  std::vector<Range> seen_;                  ///< by query
  bool ascends_ = false;                     ///< begins and ends of seen_ ascend
};

}  // namespace shardline::kernels
