#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "models/architecture/model.h"
#include "program/run/execute.h"

namespace shardline {

/// Which experts tokens went to, over several runs of a program. By layer, then by expert.
struct Routing {
  std::vector<std::vector<double>> routed;   ///< choices of the expert
  std::vector<std::vector<double>> dropped;  ///< those of them that had no place
  /// The least distance of a chosen probability from the next one that was not chosen; 1 if none was seen.
  double closest = 1;
};

/// The share of all choices that had no place.
double dropped_share(const Routing& routing);
/// The choices of the busiest expert of a layer over the mean of the layer, in the layer where that is most; 1: even.
double most_over_mean(const Routing& routing);

/// This rank's part of a Routing, added up run by run. Nothing is sent before total().
class RoutingCount {
 public:
  /// Adds the last run of `executor`, which ran a program of `model` as rank `rank` of its mesh. Arrays that the
  /// program does not have count nothing: they are another stage's. Sums over micro-batches are on every stage.
  void add(const Executor& executor, const Model& model, Index rank);
  void forget() { *this = {}; }
  /// Collective over the mesh of `engine`: that of all ranks.
  Routing total(collectives::Engine& engine) const;

 private:
  Routing own_;
  std::vector<double> stages_;  ///< by layer: 1 on the first rank of each stage that has its counts, else 0
};

}  // namespace shardline
