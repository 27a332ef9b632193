#pragma once

#include <string>

#include "collectives/run/progress.h"
#include "runtime/mesh/mesh.h"

namespace shardline {

/// The ranks of a pipeline, as one of them sees them: the mesh of its own stage, and the ranks that have its place in
/// the other stages. Each of the two has an engine.
class StageRanks {
 public:
  /// Collective over the mesh of `all`, which must outlive it. `axis` is the axis of the stages. The engines have the
  /// tuning and the timeout of `all`. Throws UsageError if the mesh lacks the axis.
  StageRanks(const collectives::Engine& all, const Axis& axis);

  /// The mesh of all ranks.
  const Mesh& all() const { return all_; }
  int stage() const { return static_cast<int>(across_.rank()); }
  int stages() const { return static_cast<int>(across_.ranks()); }
  /// Of this stage: its collectives.
  collectives::Engine& engine() { return engine_; }
  /// Over the axis of the stages: moves, and no collectives.
  collectives::Engine& moves() { return moves_; }
  /// See Engine::timeout(), of both engines.
  void set_timeout(Seconds timeout);

 private:
  const Mesh& all_;
  Mesh within_;
  Mesh across_;
  collectives::Engine engine_;
  collectives::Engine moves_;
};

}  // namespace shardline
