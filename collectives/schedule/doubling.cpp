#include "collectives/schedule/doubling.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace shardline::collectives {
namespace {

/// The chunks of `count` positions from `first` on, round the ring, as few contiguous pieces of `buffer`.
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
    Step step;
    for (const Piece& piece : run_of(chunks, position, count, Buffer::output)) {
      step.sends.push_back({ring_position(position, -k, positions), piece});
    }
    for (const Piece& piece : run_of(chunks, position + k, count, Buffer::output)) {
      step.receives.push_back({ring_position(position, k, positions), piece});
    }
    strand.push_back(std::move(step));
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
  Step start;
  for (const Piece& piece : run_of(chunks, 0, positions, Buffer::input)) {
    start.locals.push_back({{Buffer::work, piece.range}, {piece}});
  }
  strand.push_back(std::move(start));
  for (Index k = largest_power_below(positions); k >= 1; k /= 2) {
    const Index count = std::min(k, positions - k);
    Step step;
    for (const Piece& piece : run_of(chunks, position + k, count, Buffer::work)) {
      step.sends.push_back({ring_position(position, k, positions), piece, true});
    }
    for (const Piece& piece : run_of(chunks, position, count, Buffer::work)) {
      step.receives.push_back({.peer = ring_position(position, -k, positions),
                               .into = piece,
                               .action = Action::reduce,
                               .operand = piece,
                               .partial = true});
    }
    strand.push_back(std::move(step));
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
                   .action = Action::reduce,
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
    // What is sent must stay as it is until it has left, so the sum is received apart and added afterwards.
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
  // Where the block lies now that this position holds on its way by `distance` places in all.
  std::vector<Piece> held;
  for (Index d = 0; d < positions; ++d) {
    held.push_back({Buffer::input, exchange.sends[static_cast<std::size_t>(ring_position(position, d, positions))]});
  }
  Step end;
  for (Index k = 1; k < positions; k *= 2) {
    // A block at distance d has gone the places of the digits below k when this step begins.
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
    Step step{.sends = {{ring_position(position, k, positions), packed}}, .receives = {{giver, arriving}}};
    for (Index d = 0; d < positions; ++d) {
      if ((d & k) == 0) continue;
      Piece& block = held[static_cast<std::size_t>(d)];
      const Piece place{Buffer::work, {packed.range.begin, packed.range.begin + block.size()}};
      packed.range.begin = place.range.end;
      step.locals.push_back({place, {block}});
      block = {Buffer::work, {arriving.range.begin, arriving.range.begin + size_from(giver, d)}};
      arriving.range.begin = block.range.end;
    }
    strand.push_back(std::move(step));
  }
  for (Index d = 1; d < positions; ++d) {
    const auto origin = static_cast<std::size_t>(ring_position(position, -d, positions));
    end.locals.push_back({{Buffer::output, exchange.receives[origin]}, {held[static_cast<std::size_t>(d)]}});
  }
  if (positions > 1) strand.push_back(std::move(end));
  return schedule;
}

}  // namespace shardline::collectives
