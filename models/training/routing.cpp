#include "models/training/routing.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "collectives/all_reduce.h"

namespace shardline {
namespace {

/// The layout in which a run leaves `array`. Null if the program does not make it.
const Sharding* final_layout(const RankProgram& program, ArrayId array) {
  const auto version = program.finals.find(array);
  return version == program.finals.end() ? nullptr : &program.version(version->second).sharding;
}

/// True if this rank has a part of an owed array, or is the first of the ranks that hold the same.
bool counts_here(const RankProgram& program, const Sharding& layout, Index rank) {
  const Axes& axes = program.mesh.axes();
  const Coordinates place = program.mesh.coordinates(rank);
  return std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return contains(layout.unreduced, axis) || place[program.mesh.position(axis)] == 0;
  });
}

void add_counts(const Executor& executor, const std::vector<ArrayId>& arrays, Index rank,
                std::vector<std::vector<double>>& sums) {
  const RankProgram& program = executor.compiled().program();
  sums.resize(arrays.size());
  for (std::size_t layer = 0; layer < arrays.size(); ++layer) {
    const Array& array = program.program.array(arrays[layer]);
    sums[layer].resize(static_cast<std::size_t>(element_count(array.shape)));
    const Sharding* layout = final_layout(program, arrays[layer]);
    if (layout == nullptr || !counts_here(program, *layout, rank)) continue;
    const Tensor counts = executor.get(arrays[layer]).as(DType::f64);
    std::transform(counts.view<double>().begin(), counts.view<double>().end(), sums[layer].begin(), sums[layer].begin(),
                   std::plus<>());
  }
}

double sum_of(const std::vector<std::vector<double>>& counts) {
  double sum = 0;
  for (const std::vector<double>& layer : counts) sum = std::accumulate(layer.begin(), layer.end(), sum);
  return sum;
}

}  // namespace

double dropped_share(const Routing& routing) {
  const double all = sum_of(routing.routed);
  return all > 0 ? sum_of(routing.dropped) / all : 0;
}

double most_over_mean(const Routing& routing) {
  double most = 1;
  for (const std::vector<double>& layer : routing.routed) {
    const double sum = std::accumulate(layer.begin(), layer.end(), 0.0);
    if (sum <= 0) continue;
    most = std::max(most, *std::max_element(layer.begin(), layer.end()) * static_cast<double>(layer.size()) / sum);
  }
  return most;
}

void RoutingCount::add(const Executor& executor, const Model& model, Index rank) {
  add_counts(executor, model.routed, rank, own_.routed);
  stages_.resize(model.routed.size());
  for (std::size_t layer = 0; layer < stages_.size(); ++layer) {
    const bool here = final_layout(executor.compiled().program(), model.routed[layer]) != nullptr;
    stages_[layer] = here && rank == 0 ? 1 : 0;
  }
  add_counts(executor, model.dropped, rank, own_.dropped);
  for (const ArrayId closest : model.closest) {
    if (final_layout(executor.compiled().program(), closest) == nullptr) continue;
    own_.closest = std::min(own_.closest, -executor.get_scalar(closest));
  }
}

Routing RoutingCount::total(collectives::Engine& engine) const {
  const Axes& all = engine.mesh().axes().axes();
  Routing total = own_;
  std::vector<double> stages = stages_;
  std::vector<double*> counts;
  for (double& stage : stages) counts.push_back(&stage);
  for (auto* layers : {&total.routed, &total.dropped}) {
    for (std::vector<double>& layer : *layers) {
      for (double& count : layer) counts.push_back(&count);
    }
  }
  Tensor sums(DType::f64, {static_cast<Index>(counts.size())});
  const View<double> values = sums.view<double>();
  for (std::size_t i = 0; i < counts.size(); ++i) values[static_cast<Index>(i)] = *counts[i];
  if (!counts.empty()) collectives::all_reduce(engine, all, ReduceOp::sum, sums, sums);
  for (std::size_t i = 0; i < counts.size(); ++i) *counts[i] = values[static_cast<Index>(i)];
  for (auto* layers : {&total.routed, &total.dropped}) {
    for (std::size_t layer = 0; layer < layers->size(); ++layer) {
      for (double& count : (*layers)[layer]) count /= std::max(1.0, stages[layer]);
    }
  }
  total.closest = -collectives::max_over(engine, all, {-own_.closest})[0];
  return total;
}

}  // namespace shardline
