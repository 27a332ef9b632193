#include "models/planning/generation_frontier.h"

#include <algorithm>

namespace shardline {
namespace {

/// Beyond the critical batch a chip makes as many tokens with every batch, but for rounding.
constexpr double kEqual = 1e-9;

/// The largest batch that fits and is asked for; 0 if none fits.
Index largest_batch(const FrontierQuery& query, double chips, Index most_sequences) {
  if (query.chip.capacity.value == 0) return most_sequences;
  const double fit = shardline::most_sequences(query.model, query.chip, chips, query.context);
  return static_cast<Index>(std::min(fit, static_cast<double>(most_sequences)));
}

/// True if `a` is no worse than `b` in both ways and better in one.
bool beats(const FrontierPoint& a, const FrontierPoint& b) {
  const bool no_worse = a.lower() <= b.lower() && a.tokens_per_chip() >= b.tokens_per_chip();
  return no_worse && (a.lower() < b.lower() || a.tokens_per_chip() > b.tokens_per_chip());
}

}  // namespace

Seconds FrontierPoint::lower() const { return std::max(step.time(), links.time); }

FrontierPoint frontier_point(const FrontierQuery& query, double chips, double sequences) {
  const GenerationLoad load{.chips = chips, .sequences = sequences, .context = query.context};
  const bool known = query.chip.capacity.value > 0;
  return {.load = load,
          .step = decode_step(query.model, query.chip, load),
          .links = link_times(query.layer, query.links, chips, sequences).front(),
          .fits = !known || sequences <= most_sequences(query.model, query.chip, chips, query.context)};
}

std::vector<FrontierPoint> frontier(const FrontierQuery& query, const std::vector<Index>& chips, Index most_sequences) {
  std::vector<FrontierPoint> points;
  for (const Index each : chips) {
    const auto n = static_cast<double>(each);
    const Index largest = largest_batch(query, n, most_sequences);
    for (Index batch = 1; batch <= largest; batch = batch < largest ? std::min(2 * batch, largest) : largest + 1) {
      points.push_back(frontier_point(query, n, static_cast<double>(batch)));
    }
  }
  for (FrontierPoint& point : points) {
    point.best =
        std::none_of(points.begin(), points.end(), [&](const FrontierPoint& other) { return beats(other, point); });
  }
  return points;
}

std::optional<FrontierPoint> best_within(const FrontierQuery& query, const std::vector<Index>& chips,
                                         Index most_sequences, Seconds limit) {
  std::optional<FrontierPoint> best;
  for (const Index each : chips) {
    const auto n = static_cast<double>(each);
    const Index largest = largest_batch(query, n, most_sequences);
    for (Index batch = 1; batch <= largest; ++batch) {
      const FrontierPoint point = frontier_point(query, n, static_cast<double>(batch));
      if (point.lower() > limit) continue;
      if (!best || point.tokens_per_chip() > best->tokens_per_chip() * (1 + kEqual)) best = point;
    }
  }
  return best;
}

}  // namespace shardline
