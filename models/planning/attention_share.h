#pragma once

#include "models/architecture/config.h"
#include "runtime/base/units.h"

namespace shardline {

/// The FLOPs of one layer in a training step, forward and backward pass, for one sequence.
struct LayerFlops {
  Flops attention;  ///< as the kernels compute it: only keys before a query, and scores again in the backward pass
  Flops unmasked;   ///< of attention as the book counts: 12 T^2 heads head_dim, without a mask (section 4.2)
  Flops rest;       ///< of all other kernels

  /// Attention in all FLOPs, as computed.
  double share() const { return attention / (attention + rest); }
  /// The same with the book's count.
  double unmasked_share() const { return unmasked / (unmasked + rest); }
};

/// The costs of the layer's program. `sequence`: tokens of the sequence.
LayerFlops layer_flops(const TransformerConfig& config, Index sequence);

/// The shortest sequences with which attention takes at least the FLOPs of the rest of a layer.
struct EqualSequences {
  Index computed = 0;  ///< with LayerFlops::attention
  Index unmasked = 0;  ///< with LayerFlops::unmasked
};

EqualSequences equal_sequences(const TransformerConfig& config);

}  // namespace shardline
