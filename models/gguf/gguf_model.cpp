#include "models/gguf/gguf_model.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "kernels/rope.h"
#include "models/architecture/transformer.h"
#include "models/checkpoint/file_arrays.h"
#include "runtime/base/check.h"

// Source of names and keys: src/llama-arch.cpp of https://github.com/ggml-org/llama.cpp.

namespace shardline {
namespace {

/// A parameter in a checkpoint and in a GGUF file. Those of layers have the layer in front of both names.
struct NamePair {
  std::string_view ours;
  std::string_view theirs;
};

constexpr std::array<NamePair, 3> kOutside{{{"model.embed_tokens.weight", "token_embd.weight"},
                                            {"model.norm.weight", "output_norm.weight"},
                                            {"lm_head.weight", "output.weight"}}};

constexpr std::string_view kRouter = "block_sparse_moe.gate.weight";

constexpr std::array<NamePair, 16> kInLayer{{{"input_layernorm.weight", "attn_norm.weight"},
                                             {"self_attn.q_proj.weight", "attn_q.weight"},
                                             {"self_attn.k_proj.weight", "attn_k.weight"},
                                             {"self_attn.v_proj.weight", "attn_v.weight"},
                                             {"self_attn.q_proj.bias", "attn_q.bias"},
                                             {"self_attn.k_proj.bias", "attn_k.bias"},
                                             {"self_attn.v_proj.bias", "attn_v.bias"},
                                             {"self_attn.o_proj.weight", "attn_output.weight"},
                                             {"post_attention_layernorm.weight", "ffn_norm.weight"},
                                             {"mlp.gate_proj.weight", "ffn_gate.weight"},
                                             {"mlp.up_proj.weight", "ffn_up.weight"},
                                             {"mlp.down_proj.weight", "ffn_down.weight"},
                                             {kRouter, "ffn_gate_inp.weight"},
                                             {"block_sparse_moe.experts.{}.w1.weight", "ffn_gate_exps.weight"},
                                             {"block_sparse_moe.experts.{}.w3.weight", "ffn_up_exps.weight"},
                                             {"block_sparse_moe.experts.{}.w2.weight", "ffn_down_exps.weight"}}};

template <std::size_t count>
std::string_view translated(std::string_view name, const std::array<NamePair, count>& names) {
  const auto* found = std::find_if(names.begin(), names.end(), [&](const NamePair& pair) { return pair.ours == name; });
  SHARDLINE_CHECK(found != names.end(), "{}: no name for it in GGUF files", name);
  return found->theirs;
}

/// "model.layers.7.mlp.up_proj.weight" is "blk.7.ffn_up.weight".
std::string gguf_name(std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!name.starts_with(kLayers)) return std::string(translated(name, kOutside));
  name.remove_prefix(kLayers.size());
  const std::size_t point = name.find('.');
  return fmt::format("blk.{}.{}", name.substr(0, point), translated(name.substr(point + 1), kInLayer));
}

/// llama.cpp has queries, keys and values with biases as "qwen2" too. It rotates as we do, but only heads that are
/// hidden_size together, without a scaling.
bool fits_qwen2(const TransformerConfig& config) {
  return config.qkv_biases && config.heads * config.head_dim == config.d_model && !config.rope_scaling;
}

void require_known(const TransformerConfig& config) {
  require(
      config.mlp == MlpForm::swiglu,
      "a model with the MLP of hidden_act gelu_pytorch_tanh cannot be exported: llama.cpp has that of silu with such "
      "layers");
}

GgufMetadata metadata_of(const TransformerConfig& config, Index longest, GgufType type, const std::string& name) {
  // The numbers of llama.cpp's `llama_ftype`.
  constexpr std::array<std::pair<GgufType, std::uint32_t>, 4> kFileTypes{
      {{GgufType::f32, 0}, {GgufType::f16, 1}, {GgufType::q8_0, 7}, {GgufType::bf16, 32}}};
  GgufMetadata metadata;
  metadata.emplace_back("general.architecture", name);
  const auto* file_type =
      std::find_if(kFileTypes.begin(), kFileTypes.end(), [&](const auto& each) { return each.first == type; });
  metadata.emplace_back("general.file_type", file_type->second);
  if (type == GgufType::q8_0) metadata.emplace_back("general.quantization_version", std::uint32_t{2});
  const auto add = [&](const char* key, Index value) {
    metadata.emplace_back(fmt::format("{}.{}", name, key), static_cast<std::uint32_t>(value));
  };
  add("vocab_size", config.vocab);
  add("context_length", longest);
  add("embedding_length", config.d_model);
  add("block_count", config.layers);
  add("feed_forward_length", config.d_ff);
  add("attention.head_count", config.heads);
  add("attention.head_count_kv", config.kv_heads);
  add("attention.key_length", config.head_dim);
  add("attention.value_length", config.head_dim);
  add("rope.dimension_count", config.head_dim);
  if (config.experts.count > 0) {
    add("expert_count", config.experts.count);
    add("expert_used_count", config.experts.chosen);
  }
  metadata.emplace_back(name + ".attention.layer_norm_rms_epsilon", static_cast<float>(config.rms_eps));
  metadata.emplace_back(name + ".rope.freq_base", static_cast<float>(config.rope_theta));
  return metadata;
}

/// What llama.cpp divides the frequencies of the pairs by.
GgufSource rope_factors(const TransformerConfig& config) {
  const Index half = config.head_dim / 2;
  GgufSource source{.tensor = {"rope_freqs.weight", GgufType::f32, {half}}, .weights = {}, .values = {}};
  const std::vector<double> plain = kernels::rope_frequencies(half, config.rope_theta);
  const std::vector<double> scaled = kernels::rope_frequencies(half, config.rope_theta, config.rope_scaling);
  for (std::size_t i = 0; i < plain.size(); ++i) source.values.push_back(static_cast<float>(plain[i] / scaled[i]));
  return source;
}

/// True for the queries and keys, which are rotated.
bool is_rotated(std::string_view name) {
  return name.find("self_attn.q_proj.") != std::string_view::npos ||
         name.find("self_attn.k_proj.") != std::string_view::npos;
}

GgufSource source_of(const FileArray& array, const TransformerConfig& config, GgufType type, bool interleaves) {
  GgufSource source{.tensor = {.name = gguf_name(array.name), .shape = array.in_file},
                    .weights = tensor_names({array}),
                    .values = {}};
  GgufTensor& tensor = source.tensor;
  if (tensor.shape.size() > 1 && !array.name.ends_with(kRouter)) tensor.type = type;
  require(tensor.shape.back() % block_elements(tensor.type) == 0,
          "--dtype {}: a row of {} has {} elements; {} stores them in blocks of {}", name_of(type), source.weights[0],
          tensor.shape.back(), name_of(type), block_elements(type));
  if (array.by_expert) tensor.shape.insert(tensor.shape.begin(), array.shape[0]);
  if (interleaves && is_rotated(array.name)) source.interleaved = config.head_dim;
  return source;
}

}  // namespace

GgufModel gguf_model(const TransformerConfig& config, Index longest, GgufType type) {
  require_known(config);
  const bool as_qwen2 = fits_qwen2(config);
  GgufModel model{.architecture = as_qwen2 ? "qwen2" : "llama", .metadata = {}, .sources = {}};
  model.metadata = metadata_of(config, longest, type, model.architecture);
  for (const FileArray& array : parameters_of(make_inference(config, {1, 1}))) {
    model.sources.push_back(source_of(array, config, type, !as_qwen2));
  }
  if (config.rope_scaling) model.sources.push_back(rope_factors(config));
  return model;
}

}  // namespace shardline
