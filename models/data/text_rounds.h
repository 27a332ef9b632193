#pragma once

#include <functional>
#include <vector>

#include "models/data/text_series.h"

namespace shardline {

/// What a rank needs to encode a series together with others. Both functions are collective over the ranks.
struct TextRanks {
  int rank = 0;
  int size = 1;
  /// The value of every rank, in rank order.
  std::function<std::vector<Index>(Index value)> gather;
  /// Runs `body` on every rank. If it throws on one, every rank throws.
  std::function<void(const std::function<void()>& body)> on_all;
};

/// A round: each rank has a part, and they follow each other in rank order.
struct TextRound {
  EncodedPart part;
  std::vector<Index> counts;  ///< of ids, of each rank's part
  Index documents = 0;        ///< that end in the parts of all ranks
  Index end = 0;              ///< position in the series
};

/// Collective over the ranks: encodes the series, round by round, and gives each round to `take`. In a round a rank
/// takes about `block` >= 1 bytes, so that no rank holds the ids of more. The ids of all parts, in order, are those of
/// the whole texts, for any number of ranks and any block. Throws on all ranks what TextSeries::part() throws on one.
void encode_in_rounds(TextSeries& series, const TextRanks& ranks, Index block,
                      const std::function<void(const TextRound& round)>& take);

}  // namespace shardline
