#include "collectives/schedule/pairwise.h"

#include <utility>

namespace shardline::collectives {
namespace {

/// Walks the steps: body(step, position to send to, position to receive from).
template <class Body>
void exchange_with_all(Strand& strand, const Placement& placement, Body body) {
  const Index positions = placement.positions();
  for (Index d = 1; d < positions; ++d) {
    Step step;
    body(step, ring_position(placement.position, d, positions), ring_position(placement.position, -d, positions));
    strand.push_back(std::move(step));
  }
}

void gather(Strand& strand, const Placement& placement, const std::vector<Range>& chunks, const Piece& own) {
  exchange_with_all(strand, placement, [&](Step& step, Index to, Index from) {
    step.sends = {{to, own}};
    step.receives = {{from, {Buffer::output, chunks[static_cast<std::size_t>(from)]}}};
  });
}

void reduce(Schedule& schedule, const Placement& placement, const std::vector<Range>& chunks, const Piece& result) {
  Strand& strand = schedule.strands[0];
  const Range own = chunks[static_cast<std::size_t>(placement.position)];
  Local sum{result, std::vector<Piece>(chunks.size(), Piece{Buffer::input, own}), true};
  exchange_with_all(strand, placement, [&](Step& step, Index to, Index from) {
    const Piece part{Buffer::work, {schedule.work_size, schedule.work_size + own.size()}};
    schedule.work_size += own.size();
    step.sends = {{to, {Buffer::input, chunks[static_cast<std::size_t>(to)]}, true}};
    step.receives = {{.peer = from, .into = part, .partial = true}};
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
  exchange_with_all(schedule.strands[0], placement, [&](Step& step, Index to, Index from) {
    step.sends = {{to, {Buffer::input, exchange.sends[static_cast<std::size_t>(to)]}}};
    step.receives = {{from, {Buffer::output, exchange.receives[static_cast<std::size_t>(from)]}}};
  });
  return schedule;
}

}  // namespace shardline::collectives
