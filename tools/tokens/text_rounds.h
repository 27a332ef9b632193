#pragma once

#include <functional>
#include <vector>

#include "models/data/text_series.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// A round: each rank has a part, and they follow each other in rank order.
struct TextRound {
  EncodedPart part;
  std::vector<Index> counts;  ///< of ids, of each rank's part
  Index documents = 0;        ///< that end in the parts of all ranks
  Index end = 0;              ///< position in the series
};

/// Collective over `world`: encodes the series, round by round, and gives each round to `take`. In a round a rank takes
/// about `block` >= 1 bytes, so that no rank holds the ids of more. The ids of all parts, in order, are those of the
/// whole texts, for any number of ranks and any block. Throws on all ranks what TextSeries::part() throws on one.
void encode_in_rounds(TextSeries& series, const mpi::Communicator& world, Index block,
                      const std::function<void(const TextRound& round)>& take);

/// Bytes of text that a rank encodes in a round: enough that meeting the others costs little. All ranks together take
/// about `most` bytes or less.
Index block_of_round(Index bytes, int ranks, Index most);

}  // namespace shardline::tools
