#pragma once

#include <string>
#include <vector>

#include "models/architecture/config.h"
#include "models/architecture/transformer.h"
#include "runtime/base/units.h"

namespace shardline {

/// The weights of a model by part (book section 4.2).
struct ParameterParts {
  Index feed_forward = 0;
  Index attention = 0;
  Index vocabulary = 0;  ///< embedding and output projection; tied, they are one
  Index norms = 0;

  Index total() const { return feed_forward + attention + vocabulary + norms; }
};

ParameterParts parameter_parts(const TransformerConfig& config);

/// Number of weights; a tied embedding counts once.
Index parameter_count(const TransformerConfig& config);

/// FLOPs of one training step as the field counts them: 6 N tokens + 12 L B T^2 d_model, N being all parameters (a tied
/// embedding once) and the attention term counted without its causal half (book section 4).
Flops training_flops(const TransformerConfig& config, const BatchShape& batch);

/// FLOPs of training one token: forward pass and backward, which is twice as much.
struct TokenFlops {
  Flops products;   ///< 6 for every weight
  Flops attention;  ///< queries with keys, scores with values: 12 T heads head_dim a layer, no causal half (book 4.2)
};

TokenFlops token_flops(const TransformerConfig& config, Index sequence);

/// Keys and values that generating keeps for every token: two of kv_heads * head_dim a layer (book section 4.4.3).
Bytes kv_cache_per_token(const TransformerConfig& config, Bytes element);

/// Which results of the forward pass stay for the backward pass; the others are computed again (book section 4.4.2).
struct Rematerialisation {
  std::string name;
  std::string keeps;          ///< in words
  double d_model_arrays = 0;  ///< [tokens, d_model] a layer
  double d_ff_arrays = 0;     ///< [tokens, d_ff] a layer
};

/// `block`: the input of each layer alone; `four`: four arrays of d_model (book section 6); `products`: the results of
/// the MLP's three products (book exercise 5.2); `all`: about twenty arrays of d_model, nothing computed again.
const std::vector<Rematerialisation>& rematerialisations();

/// What the activations of `tokens` tokens take in all layers, over all chips.
Bytes activation_bytes(const TransformerConfig& config, double tokens, const Rematerialisation& policy, Bytes element);

}  // namespace shardline
