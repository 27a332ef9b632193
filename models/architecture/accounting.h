#pragma once

#include <string>

#include "models/architecture/config.h"
#include "models/architecture/mlp.h"
#include "program/transform/rematerialise.h"
#include "runtime/base/units.h"

namespace shardline {

/// The weights of a model by part (book section 4.2).
struct ParameterParts {
  Index feed_forward = 0;  ///< of MLPs that every token passes
  Index experts = 0;       ///< of MLPs of which each token passes a few (section 4.4.1)
  Index router = 0;        ///< what chooses experts: one product a layer
  Index attention = 0;     ///< with the biases of queries, keys and values, if there are some
  Index vocabulary = 0;    ///< embedding and output projection; one array if tied
  Index norms = 0;

  Index total() const { return feed_forward + experts + router + attention + vocabulary + norms; }
};

ParameterParts parameter_parts(const TransformerConfig& config);
/// The weights that one token passes: of the experts of a layer those that are chosen. Without experts all weights.
ParameterParts active_parameter_parts(const TransformerConfig& config);

/// Number of weights; a tied embedding counts once.
Index parameter_count(const TransformerConfig& config);
Index parameter_count(const MlpConfig& config);

/// Number of weights that one token passes.
Index active_parameter_count(const TransformerConfig& config);

/// d_ff of an average layer: of what it has, and of what a token passes. Without experts both are d_ff.
struct MeanWidths {
  double held = 0;    ///< all MLPs of the layer side by side
  double passed = 0;  ///< those that a token passes
  double routed = 0;  ///< experts that a token is sent to
};

MeanWidths mean_widths(const TransformerConfig& config);

/// The parts of the model that are counted and that no program has, in words: "latent attention". Empty if there are
/// none.
std::string counted_only(const TransformerConfig& config);

/// FLOPs of one training step by the usual count: 6 N tokens + 12 L B T^2 d_model (book section 4). N is
/// active_parameter_count() (a tied embedding once). The attention term ignores the causal half.
Flops training_flops(const TransformerConfig& config, const BatchShape& batch);
/// 12 B D F L: two products forward and four backward in each layer (book section 5.1).
Flops training_flops(const MlpConfig& config, const BatchShape& batch);

/// FLOPs of training on one token: forward pass and backward pass. The backward pass does twice the work.
struct TokenFlops {
  Flops products;   ///< 6 for every weight that the token passes
  Flops attention;  ///< queries with keys, scores with values: 12 T heads head_dim a layer, no causal half (book 4.2)
};

TokenFlops token_flops(const TransformerConfig& config, Index sequence);

/// Bytes of keys and values that generation keeps for every token: two of kv_heads * head_dim per layer (book
/// section 4.4.3). Of latent attention: its small array and the key with positions.
Bytes kv_cache_per_token(const TransformerConfig& config, Bytes element);

/// What stays of a layer for the backward pass under `remat`, in words.
std::string what_stays(Remat remat);

/// Bytes of the activations of `tokens` tokens in all layers, over all chips, by the counts of the book. `none`: about
/// twenty arrays of d_model a layer (section 4.4.2). `matmuls`: the results of the products (exercise 4.6), those of
/// experts for each that a token passes. `stream`: two arrays of d_model, before and after attention. `block`: one
/// (section 4.4.2).
Bytes activation_bytes(const TransformerConfig& config, double tokens, Remat remat, Bytes element);

}  // namespace shardline
