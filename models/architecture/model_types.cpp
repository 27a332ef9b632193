#include "models/architecture/model_types.h"

#include <fmt/ranges.h>

namespace shardline {

const std::vector<ModelType>& model_types() {
  // Defaults of the configuration classes of transformers 5.
  static const std::vector<ModelType> types = {
      {.name = "llama",
       .vocab = 32000,
       .d_model = 4096,
       .layers = 32,
       .heads = 32,
       .d_ff = 11008,
       .null_head_dim = NullMeans::derived},
      {.name = "mistral",
       .vocab = 32000,
       .d_model = 4096,
       .layers = 32,
       .heads = 32,
       .d_ff = 14336,
       .kv_heads = 8,
       .null_head_dim = NullMeans::derived,
       .window = 4096},
      {.name = "qwen2",
       .vocab = 151936,
       .d_model = 4096,
       .layers = 32,
       .heads = 32,
       .d_ff = 22016,
       .kv_heads = 32,
       .window_switch = true,
       .qkv_biases = true},
      {.name = "qwen3",
       .vocab = 151936,
       .d_model = 4096,
       .layers = 32,
       .heads = 32,
       .d_ff = 22016,
       .kv_heads = 32,
       .head_dim = 128,
       .differs = "it has norms of queries and keys",
       .not_counted = "norms of queries and keys"},
      {.name = "gemma",
       .vocab = 256000,
       .d_model = 3072,
       .layers = 28,
       .heads = 16,
       .d_ff = 24576,
       .kv_heads = 16,
       .null_kv_heads = NullMeans::nothing,
       .head_dim = 256,
       .tied = true,
       .differs = "it has a scaled embedding and norms of 1 + weight"},
      {.name = "gemma2",
       .vocab = 256000,
       .d_model = 2304,
       .layers = 26,
       .heads = 8,
       .d_ff = 9216,
       .kv_heads = 4,
       .null_kv_heads = NullMeans::nothing,
       .head_dim = 256,
       .tied = true,
       .window = 4096,
       .differs = "it has caps of scores and logits, and norms after each block",
       .not_counted = "two more norms a layer, windows of every other layer"},
      {.name = "phi3",
       .vocab = 32064,
       .d_model = 3072,
       .layers = 32,
       .heads = 32,
       .d_ff = 8192,
       .differs = "it stores queries, keys and values as one matrix"},
      {.name = "olmo2",
       .vocab = 50304,
       .d_model = 4096,
       .layers = 32,
       .heads = 32,
       .d_ff = 11008,
       .differs = "it has norms of queries and keys, and norms after each block",
       .not_counted = "norms of queries and keys"},
      {.name = "granite",
       .vocab = 32000,
       .d_model = 4096,
       .layers = 32,
       .heads = 32,
       .d_ff = 11008,
       .differs = "it multiplies embedding, scores, residuals and logits by factors"},
  };
  return types;
}

std::string model_type_names(bool that_run) {
  std::vector<std::string_view> names;
  for (const ModelType& type : model_types()) {
    if (!that_run || type.differs.empty()) names.push_back(type.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace shardline
