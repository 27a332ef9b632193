#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/architecture/config.h"
#include "roofline/price/bounds.h"

namespace shardline {

/// The question to the closed forms of book section 5.1.
struct ClosedFormQuery {
  TransformerConfig config;
  double tokens = 0;  ///< of a batch, over all pods
  Index chips = 1;    ///< of a pod
  /// The link as it carries bf16, for which the closed forms count: others are so much slower.
  roofline::ChipRates rates;
  double torus_axes = 3;    ///< of the machine: FSDP, data and tensor parallelism alone use all of them
  double x_torus_axes = 2;  ///< of a mixed mesh, for FSDP
  double y_torus_axes = 1;  ///< and for tensor parallelism
  Bytes capacity;           ///< of a chip's memory
  Bytes element{2};         ///< a weight or an activation
  Bytes moments{8};         ///< of the optimizer, for a weight

  Index pods = 1;
  BytesPerSecond between_pods = {};  ///< leaving one host; 0: not known
  Index chips_per_host = 1;

  Index stages = 1;  ///< of the pipeline
  Index microbatches = 1;

  /// The chips of a mesh of powers of two.
  Index mesh_chips() const { return roofline::power_of_two_below(chips); }
  double tokens_of_pod() const { return tokens / static_cast<double>(pods); }
  /// Tokens over all chips, not only those of the mesh.
  double tokens_per_chip() const { return tokens_of_pod() / static_cast<double>(chips); }
  /// A layer of the model with the tokens of a pod.
  roofline::TwoProducts layer() const;
};

/// The best mesh of FSDP and tensor parallelism for some of the passes; times are of all layers.
struct MixedAnswer {
  roofline::CountedPasses passes = roofline::CountedPasses::forward;
  double optimal_x = 0;  ///< a real number
  roofline::MixedMesh mesh = {};
  roofline::LayerTime time = {};
  double least_tokens_per_chip = 0;
  std::optional<std::pair<double, double>> compute_bound_x = {};
};

/// Of all powers of two X, the one at which least moves.
MixedAnswer mixed_answer(const ClosedFormQuery& query, roofline::CountedPasses passes);

/// One strategy with forward and backward pass; times are of all layers.
struct StrategyAnswer {
  std::string name = {};
  std::string mesh = {};  ///< "X=2048,Y=4"
  Seconds math = {};
  Seconds comms = {};
  Seconds idle = {};       ///< of a pipeline that fills and drains
  std::string bound = {};  ///< which bound binds, in words
  Bytes state = {};        ///< weights and optimizer, on a chip; gradients are not counted, as the book does not
  /// The most generous rematerialisation policy that fits; empty when none does, "unknown" when the memory is not
  /// known.
  std::string keeps = {};
};

/// Data parallelism, FSDP, tensor parallelism, FSDP with it, a pipeline, and the data parallelism that joins pods where
/// there are several. What binds follows from the times beside it, on the chips of the mesh; gradients of data
/// parallelism move beside the backward pass alone. Of pods it follows from the tokens that each has.
std::vector<StrategyAnswer> strategy_answers(const ClosedFormQuery& query);

}  // namespace shardline
