#include "collectives/schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "runtime/base/check.h"

namespace shardline::collectives {

Index Placement::positions() const {
  return std::accumulate(axis_sizes.begin(), axis_sizes.end(), Index{1}, std::multiplies<>());
}

std::vector<Index> Placement::coordinates(Index of) const {
  std::vector<Index> result(axis_sizes.size());
  for (std::size_t a = axis_sizes.size(); a-- > 0;) {
    result[a] = of % axis_sizes[a];
    of /= axis_sizes[a];
  }
  return result;
}

Index Placement::position_at(const std::vector<Index>& coordinates) const {
  Index result = 0;
  for (std::size_t a = 0; a < axis_sizes.size(); ++a) result = result * axis_sizes[a] + coordinates[a];
  return result;
}

Index busiest_direction(const Schedule& schedule, const ElementSizes& sizes) {
  std::map<Index, Index> sent;
  for (const Strand& strand : schedule.strands) {
    for (const Round& round : strand) {
      for (const Send& send : round.sends) {
        sent[schedule.by_link ? send.peer : 0] += send.from.size() * (send.partial ? sizes.partial : sizes.whole);
      }
    }
  }
  Index most = 0;
  for (const auto& [peer, bytes] : sent) most = std::max(most, bytes);
  return most;
}

Index round_count(const Schedule& schedule) {
  Index most = 0;
  for (const Strand& strand : schedule.strands) {
    const auto moves = [](const Round& round) {
      return std::any_of(round.sends.begin(), round.sends.end(), [](const Send& s) { return s.from.size() > 0; }) ||
             std::any_of(round.receives.begin(), round.receives.end(),
                         [](const Receive& r) { return r.into.size() > 0; });
    };
    most = std::max<Index>(most, std::count_if(strand.begin(), strand.end(), moves));
  }
  return most;
}

Index ring_position(Index position, Index offset, Index positions) {
  return ((position + offset) % positions + positions) % positions;
}

void no_schedule(Algorithm algorithm, Kind kind) {
  usage_error(
      "{} has no algorithm {}; it has {}", name_of(kind), name_of(algorithm),
      kind == Kind::shift ? "ring, direct and native" : "ring, bidirectional, pairwise, doubling, direct and native");
}

}  // namespace shardline::collectives
