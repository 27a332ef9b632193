#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline {

/// The meaning of a key that is null in a configuration.
enum class NullMeans {
  nothing,  ///< null is not legal
  derived,  ///< the value follows from other keys: as many key-value heads as heads, hidden_size / heads wide
};

/// The defaults of a Hugging Face model_type for missing or null keys of `config.json`.
struct ModelType {
  std::string_view name;
  Index vocab = 0;
  Index d_model = 0;
  Index layers = 0;
  Index heads = 0;
  Index d_ff = 0;
  std::optional<Index> kv_heads = {};  ///< of a missing key; none: derived
  NullMeans null_kv_heads = NullMeans::derived;
  std::optional<Index> head_dim = {};  ///< of a missing key; none: derived
  NullMeans null_head_dim = NullMeans::nothing;
  bool tied = false;
  double rms_eps = 1e-6;
  double rope_theta = 10000;
  std::optional<Index> window = {};   ///< sliding_window of a missing key; none: no window
  bool window_switch = false;         ///< without use_sliding_window, or if it is false, there is no window
  bool knows_no_switch = false;       ///< use_sliding_window has no meaning: sliding_window alone decides
  bool qkv_biases = false;            ///< queries, keys and values have biases
  Index experts = 0;                  ///< num_local_experts of a missing key; 0: the type has no experts
  Index chosen = 0;                   ///< num_experts_per_tok of a missing key
  std::string_view differs = {};      ///< the differences of its mathematics from LLaMA's; empty: none
  std::string_view not_counted = {};  ///< the parts that parameter_count() and prices leave out; empty: none
};

/// The types whose layers are attention with grouped keys and values and a gated MLP of three products.
const std::vector<ModelType>& model_types();

/// Names, separated by commas: of all types, or of the types that run because their mathematics does not
/// differ.
std::string model_type_names(bool that_run);

}  // namespace shardline
