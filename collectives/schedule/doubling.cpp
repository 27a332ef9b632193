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

/// The chunks of `count` positions from `first` on, round the ring, joined to as few pieces of `buffer` as possible.
std::vector<Piece> joined(const std::vector<Range>& chunks, Index first, Index count, Buffer buffer) {
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

/// What one position does in an all_to_all.
class DoublingExchange {
 public:
  DoublingExchange(Schedule& schedule, const Placement& placement, const Exchange& exchange);
  /// The round of k, a power of two.
  Round round(Index k);
  /// Copies the blocks that have arrived to their places in the output.
  Round end() const;

 private:
  /// Elements of the block at `holder` that travels `distance` places in all, before the round of k.
  Index size(Index holder, Index distance, Index k) const;
  /// Elements that `holder` sends in the round of k.
  Index sent_by(Index holder, Index k) const;
  Piece reserve(Index elements);

  Schedule& schedule_;
  const Exchange& exchange_;
  Index position_;
  Index positions_;
  std::vector<Piece> held_;  ///< by distance: where the block lies that travels so far in all
};

DoublingExchange::DoublingExchange(Schedule& schedule, const Placement& placement, const Exchange& exchange)
    : schedule_(schedule), exchange_(exchange), position_(placement.position), positions_(placement.positions()) {
  for (Index d = 0; d < positions_; ++d) {
    const auto destination = static_cast<std::size_t>(ring_position(position_, d, positions_));
    held_.push_back({Buffer::input, exchange.sends[destination]});
  }
}

Index DoublingExchange::size(Index holder, Index distance, Index k) const {
  // The block has travelled the digits below k.
  const Index origin = ring_position(holder, -(distance % k), positions_);
  return exchange_.size(origin, ring_position(origin, distance, positions_));
}

Index DoublingExchange::sent_by(Index holder, Index k) const {
  Index sum = 0;
  for (Index d = 0; d < positions_; ++d) {
    if ((d & k) != 0) sum += size(holder, d, k);
  }
  return sum;
}

Piece DoublingExchange::reserve(Index elements) {
  const Index begin = schedule_.work_size;
  schedule_.work_size += elements;
  return {Buffer::work, {begin, begin + elements}};
}

Round DoublingExchange::round(Index k) {
  const Index giver = ring_position(position_, -k, positions_);
  Piece packed = reserve(sent_by(position_, k));
  Piece arriving = reserve(sent_by(giver, k));
  Round round{.sends = {{ring_position(position_, k, positions_), packed}}, .receives = {{giver, arriving}}};
  for (Index d = 0; d < positions_; ++d) {
    if ((d & k) == 0) continue;
    Piece& block = held_[static_cast<std::size_t>(d)];
    const Piece place{Buffer::work, {packed.range.begin, packed.range.begin + block.size()}};
    packed.range.begin = place.range.end;
    round.locals.push_back({place, {block}});
    block = {Buffer::work, {arriving.range.begin, arriving.range.begin + size(giver, d, k)}};
    arriving.range.begin = block.range.end;
  }
  return round;
}

Round DoublingExchange::end() const {
  Round round;
  for (Index d = 1; d < positions_; ++d) {
    const auto origin = static_cast<std::size_t>(ring_position(position_, -d, positions_));
    round.locals.push_back({{Buffer::output, exchange_.receives[origin]}, {held_[static_cast<std::size_t>(d)]}});
  }
  return round;
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
    for (const Piece& piece : joined(chunks, position, count, Buffer::output)) {
      round.sends.push_back({ring_position(position, -k, positions), piece});
    }
    for (const Piece& piece : joined(chunks, position + k, count, Buffer::output)) {
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
  for (const Piece& piece : joined(chunks, 0, positions, Buffer::input)) {
    start.locals.push_back({{Buffer::work, piece.range}, {piece}});
  }
  strand.push_back(std::move(start));
  for (Index k = largest_power_below(positions); k >= 1; k /= 2) {
    const Index count = std::min(k, positions - k);
    Round round;
    for (const Piece& piece : joined(chunks, position + k, count, Buffer::work)) {
      round.sends.push_back({ring_position(position, k, positions), piece, true});
    }
    for (const Piece& piece : joined(chunks, position, count, Buffer::work)) {
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
    strand.push_back({.locals = {peer < position ? Local{sum, {other, sum}} : Local{sum, {sum, other}}}});
  }
  strand.push_back({.locals = {{result, {sum}, true}}});
  if (serves) strand.push_back({.sends = {{position + power, result}}});
  return schedule;
}

Schedule doubling_all_to_all(const Placement& placement, const Exchange& exchange) {
  Schedule schedule{.strands = {{}}};
  const Index positions = placement.positions();
  if (positions == 1) return schedule;
  Strand& strand = schedule.strands[0];
  DoublingExchange forwarding(schedule, placement, exchange);
  for (Index k = 1; k < positions; k *= 2) strand.push_back(forwarding.round(k));
  strand.push_back(forwarding.end());
  return schedule;
}

}  // namespace shardline::collectives
