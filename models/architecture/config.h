#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/rope.h"
#include "runtime/base/shape.h"

namespace shardline {

/// The form between the products of an MLP.
enum class MlpForm : std::uint8_t {
  swiglu,  ///< silu(g) u, of two products up
  geglu,   ///< gelu(g) u, of two products up; the tanh form of GELU
  gelu,    ///< gelu(u), of one product up. A checkpoint says a gated MLP
};

/// True if it has two products up.
inline bool is_gated(MlpForm mlp) { return mlp != MlpForm::gelu; }

/// The MLPs of a layer of which each token passes a few (a mixture of experts, book section 4.4.1).
struct Experts {
  Index count = 0;     ///< E; 0: the layer has one MLP, for every token
  Index chosen = 0;    ///< k: how many of them a token passes
  double balance = 0;  ///< weight of the balancing loss; 0: there is none

  bool operator==(const Experts&) const = default;
};

// What follows is counted and priced in closed form only: no program has it.

/// MLPs that every token passes, in a model with experts.
struct CommonMlps {
  Index shared = 0;        ///< beside the experts of each layer, and as wide as one of them
  Index dense_layers = 0;  ///< the first layers: they have one MLP and no experts
  Index dense_d_ff = 0;    ///< of that MLP

  bool operator==(const CommonMlps&) const = default;
};

/// Attention that keeps one small array in place of keys and values (multi-head latent attention, as in DeepSeek-V2).
struct LatentAttention {
  Index query_rank = 0;  ///< elements from which the queries of a token are made
  Index cached = 0;      ///< elements from which its keys and values are made; 0: attention is not latent
  Index rope_dim = 0;    ///< of each query, and of one key for all heads: the part with positions, beside head_dim
  Index value_dim = 0;   ///< of the values of a head

  bool operator==(const LatentAttention&) const = default;
};

/// The sizes and constants of a LLaMA-style Transformer: RMSNorm, rotary positions (rotate-half), grouped-query
/// attention, SwiGLU or GELU.
struct TransformerConfig {
  Index vocab = 0;
  Index d_model = 0;
  Index layers = 0;
  Index heads = 0;     ///< query heads, a multiple of kv_heads
  Index kv_heads = 0;  ///< key and value heads
  Index head_dim = 0;  ///< even
  Index d_ff = 0;
  double rms_eps = 1e-6;
  double rope_theta = 10000;
  double initializer_range = 0.02;  ///< standard deviation of the initial weights
  bool tied = false;                ///< the output projection is the embedding table
  MlpForm mlp = MlpForm::swiglu;
  std::optional<kernels::RopeScaling> rope_scaling = {};  ///< of LLaMA 3.1
  bool qkv_biases = false;                                ///< queries, keys and values have biases, as in Qwen2
  Experts experts = {};                                   ///< d_ff is that of each of them
  CommonMlps common_mlps = {};                            ///< counted only
  LatentAttention latent = {};                            ///< counted only

  bool operator==(const TransformerConfig&) const = default;
};

/// The built-in model `tiny`, over bytes: 1.67 million parameters.
TransformerConfig tiny_config();

/// The content of a `config.json`.
struct ReadConfig {
  TransformerConfig config;
  std::vector<std::string> remarks;  ///< one line each: keys with default values, and keys that are ignored
  Index longest = 0;                 ///< tokens of the longest sequence that the model was made for; 0: it is not said
};

/// Reads the text of a Hugging Face `config.json` with implemented mathematics (model_type llama, mistral without a
/// window, mixtral, or qwen2). Messages name the file `name`. A missing or null key has the default of its model_type.
/// A missing size becomes a remark. Throws UsageError, one line with the name, the key, its value and the legal values,
/// for values out of range, another model_type, keys that change the mathematics in an unimplemented way, and unknown
/// objects.
ReadConfig parse_config(std::string_view json_text, std::string_view name);

/// The same for counting and pricing, for every model_type whose layers are attention and a gated MLP (see
/// model_types()). Reads and checks sizes. Other mathematics only becomes a remark. Throws UsageError as
/// parse_config for sizes, for another model_type, and for experts of another type than mixtral.
ReadConfig parse_sizes(std::string_view json_text, std::string_view name);

/// The text of a `config.json` that parse_config and the tools of Hugging Face accept.
std::string to_json(const TransformerConfig& config);

/// The first key of to_json() in which two configurations differ: "hidden_size is 64 there and 128 here". Empty if they
/// are equal.
std::string first_difference(const TransformerConfig& one, const TransformerConfig& other);

}  // namespace shardline
