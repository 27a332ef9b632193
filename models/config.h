#pragma once

#include <string>
#include <string_view>

#include "runtime/base/shape.h"

namespace shardline {

/// The sizes and constants of a LLaMA-style Transformer: RMSNorm, rotary positions (rotate-half), grouped-query
/// attention without biases, SwiGLU or GELU.
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
  bool gated = true;                ///< SwiGLU: two products up; otherwise one, and GELU. Checkpoints are gated

  bool operator==(const TransformerConfig&) const = default;
};

/// The built-in model `tiny`, over bytes: 1.67 million parameters.
TransformerConfig tiny_config();

/// Reads the text of a Hugging Face `config.json` (model_type llama, or mistral without a window); `name` is how
/// messages call it. Keys that do not matter are ignored. Throws UsageError, one line with the name, the key, its value
/// and what is legal, for a key that is missing or out of range and for one that changes the mathematics in a way not
/// implemented.
TransformerConfig parse_config(std::string_view json_text, std::string_view name);

/// The same for counting and pricing, of every model_type whose layers are attention and a gated MLP: only sizes are
/// read, so that keys which change the mathematics but not the amount of work (rotary scaling, biases, dropout,
/// windows) pass. Throws UsageError as parse_config for sizes, for another model_type, and for experts, which are not
/// counted.
TransformerConfig parse_sizes(std::string_view json_text, std::string_view name);

/// The text of a `config.json` that parse_config and the tools of Hugging Face accept.
std::string to_json(const TransformerConfig& config);

}  // namespace shardline
