#include "collectives/schedule/schedules.h"

#include "collectives/schedule/doubling.h"
#include "collectives/schedule/pairwise.h"
#include "collectives/schedule/torus_exchange.h"
#include "collectives/schedule/torus_reduce.h"
#include "runtime/layout/blocks.h"

namespace shardline::collectives {

Schedule all_gather_schedule(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::bidirectional:
      return torus_all_gather(algorithm, placement, chunks);
    case Algorithm::pairwise:
      return pairwise_all_gather(placement, chunks);
    case Algorithm::doubling:
      return doubling_all_gather(placement, chunks);
    default:
      no_schedule(algorithm, Kind::all_gather);
  }
}

Schedule reduce_scatter_schedule(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::bidirectional:
      return torus_reduce_scatter(algorithm, placement, chunks);
    case Algorithm::pairwise:
      return pairwise_reduce_scatter(placement, chunks);
    case Algorithm::doubling:
      return doubling_reduce_scatter(placement, chunks);
    default:
      no_schedule(algorithm, Kind::reduce_scatter);
  }
}

Schedule all_reduce_schedule(Algorithm algorithm, const Placement& placement, Index elements) {
  std::vector<Range> chunks;
  for (Index i = 0; i < placement.positions(); ++i) chunks.push_back(block(elements, placement.positions(), i));
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::bidirectional:
      return torus_all_reduce(algorithm, placement, chunks);
    case Algorithm::pairwise:
      return pairwise_all_reduce(placement, chunks);
    case Algorithm::doubling:
      return doubling_all_reduce(placement, elements);
    default:
      no_schedule(algorithm, Kind::all_reduce);
  }
}

Schedule all_to_all_schedule(Algorithm algorithm, const Placement& placement, const Exchange& exchange) {
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::bidirectional:
      return torus_all_to_all(algorithm, placement, exchange);
    case Algorithm::pairwise:
      return pairwise_all_to_all(placement, exchange);
    case Algorithm::doubling:
      return doubling_all_to_all(placement, exchange);
    default:
      no_schedule(algorithm, Kind::all_to_all);
  }
}

Schedule shift_schedule(Algorithm algorithm, const Placement& placement, Index send_size, Index receive_size,
                        Index offset) {
  if (algorithm != Algorithm::ring) no_schedule(algorithm, Kind::shift);
  const Index positions = placement.positions();
  const Index to = ring_position(placement.position, offset, positions);
  const Index from = ring_position(placement.position, -offset, positions);
  Schedule schedule{.strands = {{}}};
  if (to == placement.position) return schedule;
  schedule.strands[0].push_back(
      {.sends = {{to, {Buffer::input, {0, send_size}}}}, .receives = {{from, {Buffer::output, {0, receive_size}}}}});
  return schedule;
}

}  // namespace shardline::collectives
