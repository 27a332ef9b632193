#include "models/architecture/accounting.h"

#include "runtime/base/check.h"

namespace shardline {

ParameterParts parameter_parts(const TransformerConfig& config) {
  const Index queries = config.d_model * config.heads * config.head_dim;
  const Index keys = config.d_model * config.kv_heads * config.head_dim;
  const Index biases = config.qkv_biases ? (config.heads + 2 * config.kv_heads) * config.head_dim : 0;
  const Index products = is_gated(config.mlp) ? 3 : 2;
  return {.feed_forward = config.layers * products * config.d_model * config.d_ff,
          .attention = config.layers * (2 * queries + 2 * keys + biases),
          .vocabulary = (config.tied ? 1 : 2) * config.vocab * config.d_model,
          .norms = (2 * config.layers + 1) * config.d_model};
}

Index parameter_count(const TransformerConfig& config) { return parameter_parts(config).total(); }

Index parameter_count(const MlpConfig& config) { return 2 * config.layers * config.d_model * config.d_ff; }

Flops training_flops(const TransformerConfig& config, const BatchShape& batch) {
  const auto sequences = static_cast<double>(batch.sequences);
  const auto tokens = static_cast<double>(batch.tokens);
  const double products = 6.0 * static_cast<double>(parameter_count(config)) * sequences * tokens;
  const double attention =
      12.0 * static_cast<double>(config.layers) * sequences * tokens * tokens * static_cast<double>(config.d_model);
  return Flops(products + attention);
}

Flops training_flops(const MlpConfig& config, const BatchShape& batch) {
  const auto tokens = static_cast<double>(batch.sequences) * static_cast<double>(batch.tokens);
  return Flops(6.0 * static_cast<double>(parameter_count(config)) * tokens);
}

TokenFlops token_flops(const TransformerConfig& config, Index sequence) {
  const auto width = static_cast<double>(config.heads * config.head_dim);
  return {Flops(6.0 * static_cast<double>(parameter_count(config))),
          Flops(12.0 * static_cast<double>(config.layers) * static_cast<double>(sequence) * width)};
}

Bytes kv_cache_per_token(const TransformerConfig& config, Bytes element) {
  return element * static_cast<double>(2 * config.layers * config.kv_heads * config.head_dim);
}

std::string what_stays(Remat remat) {
  switch (remat) {
    case Remat::none:
      return "about twenty arrays of d_model a layer";
    case Remat::matmuls:
      return "the results of each layer's products";
    case Remat::stream:
      return "two arrays of d_model a layer";
    case Remat::block:
      return "the input of each layer";
  }
  throw Error("unknown policy of rematerialisation");
}

namespace {

/// Elements that stay of a layer for each token.
Index elements_that_stay(const TransformerConfig& config, Remat remat) {
  switch (remat) {
    case Remat::none:
      return 20 * config.d_model;
    case Remat::matmuls: {
      const Index mlp = (is_gated(config.mlp) ? 2 : 1) * config.d_ff + config.d_model;
      return (config.heads + 2 * config.kv_heads) * config.head_dim + config.d_model + mlp;
    }
    case Remat::stream:
      return 2 * config.d_model;
    case Remat::block:
      return config.d_model;
  }
  throw Error("unknown policy of rematerialisation");
}

}  // namespace

Bytes activation_bytes(const TransformerConfig& config, double tokens, Remat remat, Bytes element) {
  return element * (tokens * static_cast<double>(elements_that_stay(config, remat) * config.layers));
}

}  // namespace shardline
