#include "tools/tokens/text_rounds.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

/// Collective over `world`: the value of every rank, in rank order. Positions are exact as double.
std::vector<Index> of_all_ranks(const mpi::Communicator& world, Index value) {
  std::vector<Index> all;
  for (const double each : world.all_gather(static_cast<double>(value))) all.push_back(static_cast<Index>(each));
  return all;
}

/// Encodes a round that begins with the cut `begin`.
EncodedPart part_of_round(TextSeries& series, const mpi::Communicator& world, Index begin, Index block) {
  const Index own_begin = begin + world.rank() * block;
  const Index limit = own_begin + block;
  EncodedPart part;
  mpi::on_all(world, [&] { part = series.part(own_begin, limit); });
  // Where a rank begins is a guess, until the rank before it tells where its part ends. Rank 0 is right, so after as
  // many turns as there are ranks, all are; one turn is usual, as parts seldom change where they end.
  while (true) {
    const std::vector<Index> begins = of_all_ranks(world, part.begin);
    const std::vector<Index> ends = of_all_ranks(world, part.end);
    const auto entry = [&](int rank) { return rank == 0 ? begin : ends[static_cast<std::size_t>(rank) - 1]; };
    bool right = true;
    for (int rank = 0; rank < world.size(); ++rank) right &= begins[static_cast<std::size_t>(rank)] == entry(rank);
    if (right) return part;
    mpi::on_all(world, [&] {
      if (part.begin != entry(world.rank())) series.enter(part, entry(world.rank()), limit);
    });
  }
}

}  // namespace

void encode_in_rounds(TextSeries& series, const mpi::Communicator& world, Index block,
                      const std::function<void(const TextRound& round)>& take) {
  SHARDLINE_CHECK(block >= 1, "blocks of {} bytes", block);
  for (Index begin = 0; begin < series.size();) {
    TextRound round;
    round.part = part_of_round(series, world, begin, block);
    round.counts = of_all_ranks(world, static_cast<Index>(round.part.ids.size()));
    for (const Index documents : of_all_ranks(world, round.part.documents)) round.documents += documents;
    begin = round.end = of_all_ranks(world, round.part.end).back();
    take(round);
  }
}

Index block_of_round(Index bytes, int ranks, Index most) {
  constexpr Index kMostOfRank = 4 << 20;
  return std::min({bytes / ranks + 1, kMostOfRank, std::max<Index>(most / ranks, 1)});
}

}  // namespace shardline::tools
