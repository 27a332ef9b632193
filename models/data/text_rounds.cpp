#include "models/data/text_rounds.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Encodes a round that begins with the cut `begin`.
EncodedPart part_of_round(TextSeries& series, const TextRanks& ranks, Index begin, Index block) {
  const Index own_begin = begin + ranks.rank * block;
  const Index limit = own_begin + block;
  EncodedPart part;
  ranks.on_all([&] { part = series.part(own_begin, limit); });
  // Where a rank begins is a guess, until the rank before it tells where its part ends. Rank 0 is right, so after as
  // many turns as there are ranks, all are; one turn is usual, as parts seldom change where they end.
  while (true) {
    const std::vector<Index> begins = ranks.gather(part.begin);
    const std::vector<Index> ends = ranks.gather(part.end);
    const auto entry = [&](int rank) { return rank == 0 ? begin : ends[static_cast<std::size_t>(rank) - 1]; };
    bool right = true;
    for (int rank = 0; rank < ranks.size; ++rank) right &= begins[static_cast<std::size_t>(rank)] == entry(rank);
    if (right) return part;
    ranks.on_all([&] {
      if (part.begin != entry(ranks.rank)) series.enter(part, entry(ranks.rank), limit);
    });
  }
}

}  // namespace

void encode_in_rounds(TextSeries& series, const TextRanks& ranks, Index block,
                      const std::function<void(const TextRound& round)>& take) {
  SHARDLINE_CHECK(block >= 1, "blocks of {} bytes", block);
  for (Index begin = 0; begin < series.size();) {
    TextRound round;
    round.part = part_of_round(series, ranks, begin, block);
    round.counts = ranks.gather(static_cast<Index>(round.part.ids.size()));
    for (const Index documents : ranks.gather(round.part.documents)) round.documents += documents;
    begin = round.end = ranks.gather(round.part.end).back();
    take(round);
  }
}

}  // namespace shardline
