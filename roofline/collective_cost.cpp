#include "roofline/collective_cost.h"

#include <algorithm>
#include <numeric>

namespace shardline::roofline {
namespace {

/// Steps from end to end of an axis of `ranks`.
Index longest_way(Index ranks, const Link& link) { return link.two_way ? ranks / 2 : ranks - 1; }

/// Share of what a rank holds that crosses the busiest link of an axis in one direction, when every rank has another
/// piece of it for each of the `ranks`.
double scattered_share(Index ranks, const Link& link) {
  const auto p = static_cast<double>(ranks);
  const Index below_middle = ranks / 2;
  // A ring: pieces go the shorter way round, p / 4 steps on average, half of them in each direction. A line: every rank
  // below the middle has a piece for every rank above it.
  const auto crossing = static_cast<double>(below_middle * (ranks - below_middle));
  return link.two_way ? crossing / (2 * p) : crossing / p;
}

/// Between neighbours.
Transfer over_torus(const Collective& collective, const std::vector<const Link*>& links) {
  Transfer transfer{.local = collective.local};
  double total = 0;
  double slowest = links[0]->bandwidth.value;
  for (std::size_t a = 0; a < links.size(); ++a) {
    transfer.steps += static_cast<double>(collective.rounds * longest_way(collective.ranks[a], *links[a]));
    total += links[a]->bandwidth.value * (links[a]->two_way ? 2 : 1);
    slowest = std::min(slowest, links[a]->bandwidth.value);
  }
  transfer.wire = collective.sent * (slowest / total);
  if (!collective.scatters) return transfer;

  const auto ranks = static_cast<double>(
      std::accumulate(collective.ranks.begin(), collective.ranks.end(), Index{1}, std::multiplies<>()));
  const Bytes held = collective.sent * (ranks / (ranks - 1));
  transfer.wire = Bytes(0);
  for (std::size_t a = 0; a < links.size(); ++a) {
    const double crossing = scattered_share(collective.ranks[a], *links[a]) * slowest / links[a]->bandwidth.value;
    transfer.wire = std::max(transfer.wire, held * crossing);
  }
  return transfer;
}

}  // namespace

Transfer transfer_of(const Collective& collective, const Axes& axes, const Hardware& hardware) {
  std::vector<const Link*> links;
  Index ranks = 1;
  bool switched = false;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    links.push_back(&hardware.link(axes[a]));
    ranks *= collective.ranks[a];
    switched = switched || links.back()->switched;
  }
  if (!switched && !links.empty()) return over_torus(collective, links);
  return {static_cast<double>(collective.rounds * (ranks - 1)), collective.sent, collective.local};
}

Price collective_price(const Collective& collective, const Axes& axes, const Hardware& hardware) {
  return transfer_price(transfer_of(collective, axes, hardware), axes, hardware);
}

}  // namespace shardline::roofline
