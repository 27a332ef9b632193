#include "models/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/check.h"

namespace shardline {
namespace {

using Json = nlohmann::json;

constexpr Index kLargestSize = 2147483647;

/// Reads the keys of one configuration; every message names the file and the key.
class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : name_(name) {
    try {
      object_ = Json::parse(text);
    } catch (const Json::parse_error& error) {
      usage_error("{}: not JSON: {}", name_, error.what());
    }
    require(object_.is_object(), "{}: a configuration is a JSON object, this is {}", name_, object_.type_name());
  }

  const std::string& name() const { return name_; }
  const Json& object() const { return object_; }
  bool has(const char* key) const { return object_.contains(key) && !object_.at(key).is_null(); }

  [[noreturn]] void refuse(std::string_view key, const Json& value, std::string_view legal) const {
    usage_error("{}: {} is {}; {}", name_, key, value.dump(-1, ' ', true, Json::error_handler_t::replace), legal);
  }

  /// A size; missing is an error unless there is a default.
  Index size(const char* key, std::optional<Index> missing = std::nullopt) const {
    if (!has(key)) {
      require(missing.has_value(), "{}: {} is missing; it must be a whole number from 1 to {}", name_, key,
              kLargestSize);
      return *missing;
    }
    const Json& value = object_.at(key);
    if (!value.is_number_integer() || value < 1 || value > kLargestSize) {
      refuse(key, value, fmt::format("it must be a whole number from 1 to {}", kLargestSize));
    }
    return value.get<Index>();
  }

  double positive(const Json& object, const char* key, double missing) const {
    if (!object.contains(key) || object.at(key).is_null()) return missing;
    const Json& value = object.at(key);
    if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>())) {
      refuse(key, value, "it must be a positive number");
    }
    return value.get<double>();
  }

  bool flag(const char* key, bool missing) const {
    if (!has(key)) return missing;
    if (!object_.at(key).is_boolean()) refuse(key, object_.at(key), "it must be true or false");
    return object_.at(key).get<bool>();
  }

  /// Refuses the configuration when `key` is there with a value other than null and `harmless`.
  void only(const char* key, const Json& harmless) const {
    if (!has(key) || object_.at(key) == harmless) return;
    refuse(key, object_.at(key),
           harmless.is_null() ? "only null is implemented" : fmt::format("only {} is implemented", harmless.dump()));
  }

 private:
  std::string name_;
  Json object_;
};

void refuse_dropout(const Reader& reader) {
  for (const auto& [key, value] : reader.object().items()) {
    const bool names_dropout = key.find("dropout") != std::string::npos || key.ends_with("_pdrop");
    if (names_dropout && !value.is_null() && value != 0) reader.refuse(key, value, "there is no dropout here, only 0");
  }
}

/// The keys of transformers 5, which holds everything about rotary positions in one object.
void check_rope_parameters(const Reader& reader, const Json& rope) {
  if (!rope.is_object()) reader.refuse("rope_parameters", rope, "it must be an object or null");
  if (rope.value("rope_type", Json("default")) != "default") {
    reader.refuse("rope_parameters", rope, "only rope_type \"default\" is implemented");
  }
}

/// Refuses, by name, every key that changes the mathematics in a way that is not implemented.
void refuse_other_mathematics(const Reader& reader) {
  const Json type = reader.object().value("model_type", Json("llama"));
  if (type != "llama" && type != "mistral") reader.refuse("model_type", type, "llama and mistral are implemented");
  reader.only("hidden_act", "silu");
  reader.only("rope_scaling", nullptr);
  reader.only("partial_rotary_factor", 1);
  reader.only("attention_bias", false);
  reader.only("mlp_bias", false);
  reader.only("quantization_config", nullptr);
  refuse_dropout(reader);
  if (reader.flag("use_sliding_window", true)) reader.only("sliding_window", nullptr);
  require(type != "mistral" || reader.object().contains("sliding_window"),
          "{}: sliding_window is missing; model_type mistral then has a window, only null is implemented",
          reader.name());
  if (reader.has("rope_parameters")) check_rope_parameters(reader, reader.object().at("rope_parameters"));
}

double read_rope_theta(const Reader& reader) {
  const double theta = reader.positive(reader.object(), "rope_theta", 10000);
  return reader.has("rope_parameters") ? reader.positive(reader.object().at("rope_parameters"), "rope_theta", theta)
                                       : theta;
}

Index read_head_dim(const Reader& reader, Index d_model, Index heads) {
  if (!reader.has("head_dim")) {
    require(d_model % heads == 0,
            "{}: hidden_size is {} and num_attention_heads is {}; without head_dim the first must be a multiple of the "
            "second",
            reader.name(), d_model, heads);
  }
  const Index head_dim = reader.size("head_dim", d_model / heads);
  require(head_dim % 2 == 0, "{}: head_dim is {}; rotary positions turn pairs, so it must be even", reader.name(),
          head_dim);
  return head_dim;
}

TransformerConfig read_sizes(const Reader& reader) {
  TransformerConfig config;
  config.vocab = reader.size("vocab_size");
  config.d_model = reader.size("hidden_size");
  config.layers = reader.size("num_hidden_layers");
  config.heads = reader.size("num_attention_heads");
  // Where the key is missing llama means as many as heads, mistral 8.
  const Json type = reader.object().value("model_type", Json("llama"));
  config.kv_heads = reader.size("num_key_value_heads", type == "mistral" ? 8 : config.heads);
  require(config.heads % config.kv_heads == 0,
          "{}: num_attention_heads is {} and num_key_value_heads is {}; the first must be a multiple of the second",
          reader.name(), config.heads, config.kv_heads);
  config.head_dim = read_head_dim(reader, config.d_model, config.heads);
  config.d_ff = reader.size("intermediate_size");
  config.tied = reader.flag("tie_word_embeddings", type == "gemma" || type == "gemma2");
  return config;
}

}  // namespace

TransformerConfig tiny_config() {
  TransformerConfig config;
  config.vocab = 256;
  config.d_model = 192;
  config.layers = 4;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 32;
  config.d_ff = 512;
  return config;
}

TransformerConfig parse_config(std::string_view json_text, std::string_view name) {
  const Reader reader(json_text, name);
  refuse_other_mathematics(reader);
  TransformerConfig config = read_sizes(reader);
  config.rms_eps = reader.positive(reader.object(), "rms_norm_eps", config.rms_eps);
  config.rope_theta = read_rope_theta(reader);
  config.initializer_range = reader.positive(reader.object(), "initializer_range", config.initializer_range);
  return config;
}

TransformerConfig parse_sizes(std::string_view json_text, std::string_view name) {
  const Reader reader(json_text, name);
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (reader.has(key)) reader.refuse(key, reader.object().at(key), "experts are not counted");
  }
  // Models of the same layers: attention with grouped keys and values, a gated MLP of three products.
  constexpr std::array kLikeLlama = {"llama",  "mistral", "qwen2", "qwen3",  "gemma",
                                     "gemma2", "phi3",    "olmo2", "granite"};
  const Json type = reader.object().value("model_type", Json("llama"));
  if (std::none_of(kLikeLlama.begin(), kLikeLlama.end(), [&](const char* known) { return type == known; })) {
    reader.refuse("model_type", type, fmt::format("counted are {}", fmt::join(kLikeLlama, ", ")));
  }
  return read_sizes(reader);
}

std::string to_json(const TransformerConfig& config) {
  SHARDLINE_CHECK(config.gated, "a config.json of model_type llama says a gated MLP");
  const nlohmann::ordered_json object = {
      {"architectures", {"LlamaForCausalLM"}},
      {"model_type", "llama"},
      {"vocab_size", config.vocab},
      {"hidden_size", config.d_model},
      {"intermediate_size", config.d_ff},
      {"num_hidden_layers", config.layers},
      {"num_attention_heads", config.heads},
      {"num_key_value_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"hidden_act", "silu"},
      {"rms_norm_eps", config.rms_eps},
      {"rope_theta", config.rope_theta},
      {"rope_scaling", nullptr},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"attention_dropout", 0.0},
      {"tie_word_embeddings", config.tied},
      {"initializer_range", config.initializer_range},
  };
  return object.dump(2) + "\n";
}

}  // namespace shardline
