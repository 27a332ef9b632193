#include "collectives/schedule/pairwise.h"

#include <utility>

// Algorithm `pairwise`. In round d a position sends to the position d places further and receives from the one d places
// behind. No block is sent on. A, B, C, D are the blocks of positions 0 to 3.
//
// all_gather:
//
//               position 0    position 1    position 2    position 3
//     round 1   A to 1        B to 2        C to 3        D to 0
//     round 2   A to 2        B to 3        C to 0        D to 1
//     round 3   A to 3        B to 0        C to 1        D to 2
//
// reduce_scatter. b0 is block B in the operand of position 0. Each owner keeps all parts of its block and adds them at
// the end in order of position:
//
//     round 1   b0 to 1       c1 to 2       d2 to 3       a3 to 0
//     round 2   c0 to 2       d1 to 3       a2 to 0       b3 to 1
//     round 3   d0 to 3       a1 to 0       b2 to 1       c3 to 2
//     round 4   A = a0+a1+a2+a3 on position 0, and so on: local work without messages
//
// all_reduce is this reduce_scatter and then this all_gather of A, B, C, D. all_to_all sends as reduce_scatter does,
// but stores each block at its place in the output.

namespace shardline::collectives {
namespace {

/// Adds the rounds: calls body(round, position to send to, position to receive from) for each.
template <class Body>
void exchange_with_all(Strand& strand, const Placement& placement, Body body) {
  const Index positions = placement.positions();
  for (Index d = 1; d < positions; ++d) {
    Round round;
    body(round, ring_position(placement.position, d, positions), ring_position(placement.position, -d, positions));
    strand.push_back(std::move(round));
  }
}

void gather(Strand& strand, const Placement& placement, const std::vector<Range>& chunks, const Piece& own) {
  exchange_with_all(strand, placement, [&](Round& round, Index to, Index from) {
    round.sends = {{to, own}};
    round.receives = {{from, {Buffer::output, chunks[static_cast<std::size_t>(from)]}}};
  });
}

void reduce(Schedule& schedule, const Placement& placement, const std::vector<Range>& chunks, const Piece& result) {
  Strand& strand = schedule.strands[0];
  const Range own = chunks[static_cast<std::size_t>(placement.position)];
  Local sum{result, std::vector<Piece>(chunks.size(), Piece{Buffer::input, own}), true};
  exchange_with_all(strand, placement, [&](Round& round, Index to, Index from) {
    const Piece part{Buffer::work, {schedule.work_size, schedule.work_size + own.size()}};
    schedule.work_size += own.size();
    round.sends = {{to, {Buffer::input, chunks[static_cast<std::size_t>(to)]}, true}};
    round.receives = {{.peer = from, .into = part, .partial = true}};
    sum.from[static_cast<std::size_t>(from)] = part;
  });
  if (placement.positions() > 1) strand.push_back({.locals = {std::move(sum)}});
}

}  // namespace

Schedule pairwise_all_gather(const Placement& placement, const std::vector<Range>& chunks) {
  Schedule schedule{.strands = {{}}};
  const Index own = chunks[static_cast<std::size_t>(placement.position)].size();
  gather(schedule.strands[0], placement, chunks, {Buffer::input, {0, own}});
  return schedule;
}

Schedule pairwise_reduce_scatter(const Placement& placement, const std::vector<Range>& chunks) {
  Schedule schedule{.strands = {{}}};
  const Index own = chunks[static_cast<std::size_t>(placement.position)].size();
  reduce(schedule, placement, chunks, {Buffer::output, {0, own}});
  return schedule;
}

Schedule pairwise_all_reduce(const Placement& placement, const std::vector<Range>& chunks) {
  Schedule schedule{.strands = {{}}};
  const Piece own{Buffer::output, chunks[static_cast<std::size_t>(placement.position)]};
  reduce(schedule, placement, chunks, own);
  gather(schedule.strands[0], placement, chunks, own);
  return schedule;
}

Schedule pairwise_all_to_all(const Placement& placement, const Exchange& exchange) {
  Schedule schedule{.strands = {{}}};
  exchange_with_all(schedule.strands[0], placement, [&](Round& round, Index to, Index from) {
    round.sends = {{to, {Buffer::input, exchange.sends[static_cast<std::size_t>(to)]}}};
    round.receives = {{from, {Buffer::output, exchange.receives[static_cast<std::size_t>(from)]}}};
  });
  return schedule;
}

}  // namespace shardline::collectives
