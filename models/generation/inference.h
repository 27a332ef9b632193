#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/run/progress.h"
#include "models/architecture/transformer.h"
#include "models/checkpoint/checkpoint.h"
#include "models/strategy/strategies.h"
#include "program/run/execute.h"
#include "program/run/state.h"

namespace shardline {

/// A model that continues texts, compiled for the ranks of a mesh. Pure; does not allocate the arrays.
class InferencePlan {
 public:
  /// `window`: tokens that the model sees, at least 1. `dtype`: f32 or f64. Throws Error for other values, UsageError
  /// as declare().
  InferencePlan(const TransformerConfig& config, const Strategy& strategy, const AbstractMesh& mesh, Index window,
                DType dtype);

  const Model& model() const { return model_; }
  const std::shared_ptr<const Compiled>& compiled() const { return compiled_; }
  Index window() const { return window_; }
  DType dtype() const { return model_.program.dtype; }
  /// The most bytes of arrays on `rank` while it loads weights from a checkpoint or computes logits.
  Bytes memory(Index rank) const;

 private:
  Index window_;
  Model model_;
  std::shared_ptr<const Compiled> compiled_;
};

/// The model on the mesh. Gives the logits that follow a text.
class Inference {
 public:
  /// Collective over the mesh of `engine`. Loads the weights from `checkpoint`. Throws ResultError as
  /// load_parameters().
  Inference(collectives::Engine& engine, InferencePlan plan, const Checkpoint& checkpoint);

  /// Collective over the mesh: logits of the token after the last of `ids`, on every rank. Throws ResultError if one is
  /// not finite, and Error if there is no id, or one is not in the vocabulary.
  std::vector<double> logits_after(const std::vector<std::int32_t>& ids);

 private:
  collectives::Engine& engine_;
  InferencePlan plan_;
  State state_;
  Executor executor_;
};

}  // namespace shardline
