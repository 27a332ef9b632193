#include "collectives/schedule/doubling.h"

#include <algorithm>
#include <bit>
#include <utility>

// Algorithm `doubling`. In one round a position exchanges with one position at distance k, and k is a power of two.
// A, B, C, D are the blocks of positions 0 to 3.
//
// all_gather, k = 1, 2. A position receives from k places further. Its number of blocks doubles:
//
//               position 0    position 1    position 2    position 3
//     start     A . . .       . B . .       . . C .       . . . D
//     k = 1     A B . .       . B C .       . . C D       A . . D
//     k = 2     A B C D       A B C D       A B C D       A B C D
//
// reduce_scatter, k = 2, 1: the opposite order. A position sends sums k places further, and adds what it receives:
//
//     k = 2     C D to 2      D A to 3      A B to 0      B C to 1
//     k = 1     B to 1        C to 2        D to 3        A to 0
//
// all_reduce, k = 1, 2. Two positions exchange their whole sums, and both add them. s01 is the sum of operands 0 and 1:
//
//     k = 1     s0 and s1 between 0 and 1         s2 and s3 between 2 and 3
//     k = 2     s01 and s23 between 0 and 2       s01 and s23 between 1 and 3
//
// With 3 positions there are 2 = 2^1 in this exchange: before it position 2 sends its operand to position 0, and after
// it position 0 sends the result to position 2.
//
// all_to_all, k = 1, 2. Block xy goes from x to y, d = y - x places round the ring. It moves k places in the round of k
// if the binary digit k of d is 1:
//
//               position 0    position 1    position 2    position 3
//     k = 1     01 03 to 1    12 10 to 2    23 21 to 3    30 32 to 0
//     k = 2     02 32 to 2    13 03 to 3    20 10 to 0    31 21 to 1

namespace shardline::collectives {
namespace {

/// The chunks of `count` positions from `first` on, round the ring, joined to the fewest pieces of `buffer`.
std::vector<Piece> run_of(const std::vector<Range>& chunks, Index first, Index count, Buffer buffer) {
  const auto positions = static_cast<Index>(chunks.size());
  std::vector<Piece> pieces;
  for (Index k = 0; k < count; ++k) {
    const Range chunk = chunks[static_cast<std::size_t>(ring_position(first, k, positions))];
    if (chunk.size() == 0) continue;
    if (!pieces.empty() && pieces.back().range.end == chunk.begin) {
      pieces.back().range.end = chunk.end;
    } else {
      pieces.push_back({buffer, chunk});
    }
  }
  return pieces;
}

Index end_of(const std::vector<Range>& chunks) {
  Index end = 0;
  for (const Range& chunk : chunks) end = std::max(end, chunk.end);
  return end;
}

Index largest_power_below(Index positions) {
  return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(positions - 1)));
}

}  // namespace

Schedule doubling_all_gather(const Placement& placement, const std::vector<Range>& chunks) {
  const Index positions = placement.positions();
  const Index position = placement.position;
  const Range own = chunks[static_cast<std::size_t>(position)];
  Schedule schedule{.strands = {{}}};
  if (positions == 1) return schedule;
  Strand& strand = schedule.strands[0];
  strand.push_back({.locals = {{{Buffer::output, own}, {{Buffer::input, {0, own.size()}}}}}});
  for (Index k = 1; k < positions; k *= 2) {
    const Index count = std::min(k, positions - k);
    Round round;
    for (const Piece& piece : run_of(chunks, position, count, Buffer::output)) {
      round.sends.push_back({ring_position(position, -k, positions), piece});
    }
    for (const Piece& piece : run_of(chunks, position + k, count, Buffer::output)) {
      round.receives.push_back({ring_position(position, k, positions), piece});
    }
    strand.push_back(std::move(round));
  }
  return schedule;
}

Schedule doubling_reduce_scatter(const Placement& placement, const std::vector<Range>& chunks) {
  const Index positions = placement.positions();
  const Index position = placement.position;
  const Range own = chunks[static_cast<std::size_t>(position)];
  Schedule schedule{.strands = {{}}};
  if (positions == 1) return schedule;
  schedule.work_size = end_of(chunks);
  Strand& strand = schedule.strands[0];
  Round start;
  for (const Piece& piece : run_of(chunks, 0, positions, Buffer::input)) {
    start.locals.push_back({{Buffer::work, piece.range}, {piece}});
  }
  strand.push_back(std::move(start));
  for (Index k = largest_power_below(positions); k >= 1; k /= 2) {
    const Index count = std::min(k, positions - k);
    Round round;
    for (const Piece& piece : run_of(chunks, position + k, count, Buffer::work)) {
      round.sends.push_back({ring_position(position, k, positions), piece, true});
    }
    for (const Piece& piece : run_of(chunks, position, count, Buffer::work)) {
      round.receives.push_back({.peer = ring_position(position, -k, positions),
                                .into = piece,
                                .on_arrival = OnArrival::reduce,
                                .operand = piece,
                                .partial = true});
    }
    strand.push_back(std::move(round));
  }
  strand.push_back({.locals = {{{Buffer::output, {0, own.size()}}, {{Buffer::work, own}}, true}}});
  return schedule;
}

Schedule doubling_all_reduce(const Placement& placement, Index elements) {
  const Index positions = placement.positions();
  const Index position = placement.position;
  Schedule schedule{.strands = {{}}};
  if (positions == 1) return schedule;
  schedule.work_size = elements;
  Strand& strand = schedule.strands[0];
  const Piece sum{Buffer::work, {0, elements}};
  const Piece result{Buffer::output, {0, elements}};
  strand.push_back({.locals = {{sum, {{Buffer::input, {0, elements}}}}}});

  const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(positions)));
  const auto receive_sum = [&](Index peer) {
    return Receive{.peer = peer,
                   .into = sum,
                   .on_arrival = OnArrival::reduce,
                   .operand = sum,
                   .partial = true,
                   .operand_first = position < peer};
  };
  if (position >= power) {
    strand.push_back({.sends = {{position - power, sum, true}}});
    strand.push_back({.receives = {{position - power, result}}});
    return schedule;
  }
  const bool serves = position + power < positions;
  if (serves) strand.push_back({.receives = {receive_sum(position + power)}});
  for (Index k = 1; k < power; k *= 2) {
    const Index peer = position ^ k;
    // The sum must not change until it has been sent. So the other sum arrives in its own memory and is added
    // afterwards.
    const Piece other{Buffer::work, {elements, 2 * elements}};
    schedule.work_size = 2 * elements;
    strand.push_back({.sends = {{peer, sum, true}}, .receives = {{.peer = peer, .into = other, .partial = true}}});
    Local add{sum, {sum, other}};
    if (peer < position) std::swap(add.from[0], add.from[1]);
    strand.push_back({.locals = {std::move(add)}});
  }
  strand.push_back({.locals = {{result, {sum}, true}}});
  if (serves) strand.push_back({.sends = {{position + power, result}}});
  return schedule;
}

Schedule doubling_all_to_all(const Placement& placement, const Exchange& exchange) {
  const Index positions = placement.positions();
  const Index position = placement.position;
  Schedule schedule{.strands = {{}}};
  Strand& strand = schedule.strands[0];
  const auto reserve = [&](Index size) {
    const Index begin = schedule.work_size;
    schedule.work_size += size;
    return Range{begin, begin + size};
  };
  // By distance d: the current place of the block that this position holds and that travels d places in all.
  std::vector<Piece> held;
  for (Index d = 0; d < positions; ++d) {
    held.push_back({Buffer::input, exchange.sends[static_cast<std::size_t>(ring_position(position, d, positions))]});
  }
  Round end;
  for (Index k = 1; k < positions; k *= 2) {
    // Before this round a block of distance d has travelled d % k places: the digits below k.
    const auto size_from = [&](Index holder, Index d) {
      const Index origin = ring_position(holder, -(d % k), positions);
      return exchange.size(origin, ring_position(origin, d, positions));
    };
    const Index giver = ring_position(position, -k, positions);
    Index out = 0;
    Index in = 0;
    for (Index d = 0; d < positions; ++d) {
      if ((d & k) == 0) continue;
      out += size_from(position, d);
      in += size_from(giver, d);
    }
    Piece packed{Buffer::work, reserve(out)};
    Piece arriving{Buffer::work, reserve(in)};
    Round round{.sends = {{ring_position(position, k, positions), packed}}, .receives = {{giver, arriving}}};
    for (Index d = 0; d < positions; ++d) {
      if ((d & k) == 0) continue;
      Piece& block = held[static_cast<std::size_t>(d)];
      const Piece place{Buffer::work, {packed.range.begin, packed.range.begin + block.size()}};
      packed.range.begin = place.range.end;
      round.locals.push_back({place, {block}});
      block = {Buffer::work, {arriving.range.begin, arriving.range.begin + size_from(giver, d)}};
      arriving.range.begin = block.range.end;
    }
    strand.push_back(std::move(round));
  }
  for (Index d = 1; d < positions; ++d) {
    const auto origin = static_cast<std::size_t>(ring_position(position, -d, positions));
    end.locals.push_back({{Buffer::output, exchange.receives[origin]}, {held[static_cast<std::size_t>(d)]}});
  }
  if (positions > 1) strand.push_back(std::move(end));
  return schedule;
}

}  // namespace shardline::collectives
