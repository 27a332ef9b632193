#include "models/architecture/accounting.h"

#include <fmt/ranges.h>

#include <vector>

#include "runtime/base/check.h"

namespace shardline {

namespace {

/// Layers with experts.
Index routed_layers(const TransformerConfig& config) {
  return config.experts.count == 0 ? 0 : config.layers - config.common_mlps.dense_layers;
}

/// Products of an MLP.
Index products_of_mlp(const TransformerConfig& config) { return is_gated(config.mlp) ? 3 : 2; }

/// d_ff of all layers together, of MLPs that every token passes.
Index common_widths(const TransformerConfig& config) {
  if (config.experts.count == 0) return config.layers * config.d_ff;
  const CommonMlps& common = config.common_mlps;
  return common.dense_layers * common.dense_d_ff + routed_layers(config) * common.shared * config.d_ff;
}

/// Weights of a layer's attention.
Index attention_weights(const TransformerConfig& config) {
  const LatentAttention& latent = config.latent;
  if (latent.cached > 0) {
    const Index queries = latent.query_rank * (config.d_model + config.heads * (config.head_dim + latent.rope_dim));
    const Index kept = config.d_model * (latent.cached + latent.rope_dim);
    const Index keys_and_values = latent.cached * config.heads * (config.head_dim + latent.value_dim);
    return queries + kept + keys_and_values + config.heads * latent.value_dim * config.d_model;
  }
  const Index queries = config.d_model * config.heads * config.head_dim;
  const Index keys = config.d_model * config.kv_heads * config.head_dim;
  const Index biases = config.qkv_biases ? (config.heads + 2 * config.kv_heads) * config.head_dim : 0;
  return 2 * queries + 2 * keys + biases;
}

/// All weights, with so many experts in each layer that has a choice of them.
ParameterParts parts_with_experts(const TransformerConfig& config, Index experts) {
  const Index each = products_of_mlp(config) * config.d_model;  // weights for one of d_ff
  const Index latent = config.latent.query_rank + config.latent.cached;
  return {.feed_forward = each * common_widths(config),
          .experts = routed_layers(config) * experts * each * config.d_ff,
          .router = routed_layers(config) * config.d_model * config.experts.count,
          .attention = config.layers * attention_weights(config),
          .vocabulary = (config.tied ? 1 : 2) * config.vocab * config.d_model,
          .norms = (2 * config.layers + 1) * config.d_model + config.layers * latent};
}

}  // namespace

ParameterParts parameter_parts(const TransformerConfig& config) {
  return parts_with_experts(config, config.experts.count);
}

ParameterParts active_parameter_parts(const TransformerConfig& config) {
  return parts_with_experts(config, config.experts.chosen);
}

Index parameter_count(const TransformerConfig& config) { return parameter_parts(config).total(); }

Index active_parameter_count(const TransformerConfig& config) { return active_parameter_parts(config).total(); }

MeanWidths mean_widths(const TransformerConfig& config) {
  const auto layers = static_cast<double>(config.layers);
  const auto width_of = [&](Index experts) {
    return static_cast<double>(common_widths(config) + routed_layers(config) * experts * config.d_ff) / layers;
  };
  return {width_of(config.experts.count), width_of(config.experts.chosen),
          static_cast<double>(routed_layers(config) * config.experts.chosen) / layers};
}

std::string counted_only(const TransformerConfig& config) {
  const CommonMlps& common = config.common_mlps;
  std::vector<std::string> parts;
  if (config.latent.cached > 0) parts.emplace_back("latent attention");
  if (common.shared > 0) parts.emplace_back("shared experts");
  if (common.dense_layers > 0) parts.emplace_back("layers without experts");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Index parameter_count(const MlpConfig& config) { return 2 * config.layers * config.d_model * config.d_ff; }

Flops training_flops(const TransformerConfig& config, const BatchShape& batch) {
  const auto sequences = static_cast<double>(batch.sequences);
  const auto tokens = static_cast<double>(batch.tokens);
  const double products = 6.0 * static_cast<double>(active_parameter_count(config)) * sequences * tokens;
  const double attention =
      12.0 * static_cast<double>(config.layers) * sequences * tokens * tokens * static_cast<double>(config.d_model);
  return Flops(products + attention);
}

Flops training_flops(const MlpConfig& config, const BatchShape& batch) {
  const auto tokens = static_cast<double>(batch.sequences) * static_cast<double>(batch.tokens);
  return Flops(6.0 * static_cast<double>(parameter_count(config)) * tokens);
}

TokenFlops token_flops(const TransformerConfig& config, Index sequence) {
  const LatentAttention& latent = config.latent;
  const Index of_queries = config.head_dim + latent.rope_dim;
  const Index of_values = latent.cached > 0 ? latent.value_dim : config.head_dim;
  const auto widths = static_cast<double>(config.heads * (of_queries + of_values));
  return {Flops(6.0 * static_cast<double>(active_parameter_count(config))),
          Flops(6.0 * static_cast<double>(config.layers) * static_cast<double>(sequence) * widths)};
}

Bytes kv_cache_per_token(const TransformerConfig& config, Bytes element) {
  const LatentAttention& latent = config.latent;
  const Index of_layer = latent.cached > 0 ? latent.cached + latent.rope_dim : 2 * config.kv_heads * config.head_dim;
  return element * static_cast<double>(config.layers * of_layer);
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

/// Results of the products of attention in a layer, for each token.
Index results_of_attention(const TransformerConfig& config) {
  const LatentAttention& latent = config.latent;
  if (latent.cached == 0) return (config.heads + 2 * config.kv_heads) * config.head_dim + config.d_model;
  const Index of_head = 2 * config.head_dim + latent.rope_dim + latent.value_dim;  // query, key and value
  return latent.query_rank + latent.cached + latent.rope_dim + config.heads * of_head + config.d_model;
}

/// Results of the products of all MLPs and routers that a token passes.
Index results_of_mlps(const TransformerConfig& config) {
  const Index routed = routed_layers(config);
  const Index widths = common_widths(config) + routed * config.experts.chosen * config.d_ff;
  const Index mlps = config.layers - routed + routed * (config.common_mlps.shared + config.experts.chosen);
  return (products_of_mlp(config) - 1) * widths + mlps * config.d_model + routed * config.experts.count;
}

/// Elements that stay of all layers for each token.
Index elements_that_stay(const TransformerConfig& config, Remat remat) {
  switch (remat) {
    case Remat::none:
      return config.layers * 20 * config.d_model;
    case Remat::matmuls:
      return config.layers * results_of_attention(config) + results_of_mlps(config);
    case Remat::stream:
      return config.layers * 2 * config.d_model;
    case Remat::block:
      return config.layers * config.d_model;
  }
  throw Error("unknown policy of rematerialisation");
}

}  // namespace

Bytes activation_bytes(const TransformerConfig& config, double tokens, Remat remat, Bytes element) {
  return element * (tokens * static_cast<double>(elements_that_stay(config, remat)));
}

}  // namespace shardline
