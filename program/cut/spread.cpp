#include "program/cut/spread.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "program/timetable/timing.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Chunks times tasks of a kind, above which moving layers would be simulated for too long.
constexpr Index kMostSimulated = 4096;

/// Counts such that no chunk costs more than `most`, as full as can be from the first on; the last takes the rest.
std::vector<int> filled(const std::vector<double>& costs, std::size_t chunks, double most) {
  std::vector<int> counts(chunks, 0);
  const std::size_t between = costs.size() - 2;
  std::size_t layer = 1;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    double sum = (chunk == 0 ? costs.front() : 0) + (chunk + 1 == chunks ? costs.back() : 0);
    while (layer <= between && (chunk + 1 == chunks || sum + costs[layer] <= most)) {
      sum += costs[layer++];
      ++counts[chunk];
    }
  }
  return counts;
}

double dearest(const std::vector<double>& costs, const std::vector<int>& counts) {
  double most = 0;
  std::size_t layer = 1;
  for (std::size_t chunk = 0; chunk < counts.size(); ++chunk) {
    double sum = (chunk == 0 ? costs.front() : 0) + (chunk + 1 == counts.size() ? costs.back() : 0);
    for (int i = 0; i < counts[chunk]; ++i) sum += costs[layer++];
    most = std::max(most, sum);
  }
  return most;
}

/// The counts whose dearest chunk is cheapest. The bound is found by bisection.
std::vector<int> evenest(const std::vector<double>& costs, std::size_t chunks) {
  double low = 0;
  double high = std::accumulate(costs.begin(), costs.end(), 0.0);
  std::vector<int> best = filled(costs, chunks, high);
  constexpr int kHalvings = 40;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    const std::vector<int> counts = filled(costs, chunks, middle);
    if (dearest(costs, counts) <= middle) {
      high = middle;
      best = counts;
    } else {
      low = middle;
    }
  }
  return best;
}

/// The counts with one layer moved to the chunk after or before.
std::vector<std::vector<int>> neighbours_of(const std::vector<int>& counts) {
  std::vector<std::vector<int>> all;
  for (std::size_t chunk = 0; chunk + 1 < counts.size(); ++chunk) {
    for (const int moved : {1, -1}) {
      std::vector<int> near = counts;
      near[chunk] += moved;
      near[chunk + 1] -= moved;
      if (near[chunk] >= 0 && near[chunk + 1] >= 0) all.push_back(std::move(near));
    }
  }
  return all;
}

}  // namespace

StageLayers stage_layers(const std::vector<int>& counts, const std::vector<int>& place, int layers_between) {
  const Index all = std::accumulate(counts.begin(), counts.end(), Index{0});
  const bool legal = counts.size() == place.size() && all == layers_between &&
                     std::all_of(counts.begin(), counts.end(), [](int count) { return count >= 0; });
  require(legal, "layers of the stages {}: {} numbers of layers are needed that add up to {}", fmt::join(counts, ","),
          place.size(), layers_between);
  StageLayers layers{.place = place, .chunk_of = {0}};
  for (std::size_t chunk = 0; chunk < counts.size(); ++chunk) {
    layers.chunk_of.insert(layers.chunk_of.end(), static_cast<std::size_t>(counts[chunk]), static_cast<int>(chunk));
  }
  layers.chunk_of.push_back(static_cast<int>(place.size()) - 1);
  return layers;
}

TaskCosts costs_of_chunks(const TaskCosts& by_layer, const StageLayers& layers) {
  TaskCosts costs{.move = by_layer.move, .frees_cores = by_layer.frees_cores};
  const auto add_up = [&](const std::vector<Seconds>& from, std::vector<Seconds>& to) {
    to.assign(layers.place.size(), Seconds(0));
    for (std::size_t layer = 0; layer < from.size(); ++layer) {
      to[static_cast<std::size_t>(layers.chunk_of[layer])] += from[layer];
    }
  };
  add_up(by_layer.forward, costs.forward);
  add_up(by_layer.backward, costs.backward);
  add_up(by_layer.inputs, costs.inputs);
  add_up(by_layer.weights, costs.weights);
  return costs;
}

std::vector<int> place_of_chunks(const TimetableRequest& request) {
  const std::vector<Seconds> none(
      static_cast<std::size_t>(request.stages * timetable_row(request.name).chunks_per_stage));
  return make_timetable({request.name, request.stages, 1}, {none, none, none, none}).place;
}

std::vector<int> spread_layers(const TimetableRequest& request, const TaskCosts& by_layer) {
  const std::vector<int> place = place_of_chunks(request);
  const int between = static_cast<int>(by_layer.forward.size()) - 2;
  const auto time_of = [&](const std::vector<int>& counts) {
    const TaskCosts costs = costs_of_chunks(by_layer, stage_layers(counts, place, between));
    return timed(make_timetable(request, costs), costs).makespan;
  };
  std::vector<double> costs;
  for (std::size_t layer = 0; layer < by_layer.forward.size(); ++layer) {
    costs.push_back((by_layer.forward[layer] + by_layer.backward[layer]).value);
  }
  std::vector<int> counts = evenest(costs, place.size());
  const Index tasks = static_cast<Index>(place.size()) * request.micro_batches;
  if (tasks * static_cast<Index>(place.size()) > kMostSimulated) return counts;
  Seconds best = time_of(counts);
  while (true) {
    std::vector<int> better;
    for (std::vector<int>& near : neighbours_of(counts)) {
      const Seconds time = time_of(near);
      if (time < best) best = time, better = std::move(near);
    }
    if (better.empty()) return counts;
    counts = std::move(better);
  }
}

}  // namespace shardline
