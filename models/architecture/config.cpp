#include "models/architecture/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "models/architecture/config_experts.h"
#include "models/architecture/config_keys.h"
#include "models/architecture/config_reader.h"
#include "models/architecture/config_rope.h"
#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

using Json = nlohmann::json;

constexpr double kMostParameters = 1e15;

/// Keys that parse_config() handles itself.
bool is_read(std::string_view key) {
  constexpr auto kRead = std::to_array<std::string_view>({"model_type",
                                                          "vocab_size",
                                                          "hidden_size",
                                                          "num_hidden_layers",
                                                          "num_attention_heads",
                                                          "num_key_value_heads",
                                                          "head_dim",
                                                          "intermediate_size",
                                                          "tie_word_embeddings",
                                                          "rms_norm_eps",
                                                          "rope_theta",
                                                          "initializer_range",
                                                          "rope_scaling",
                                                          "rope_parameters",
                                                          "sliding_window",
                                                          "use_sliding_window",
                                                          "layer_types",
                                                          "num_local_experts",
                                                          "num_experts",
                                                          "n_routed_experts",
                                                          "num_experts_per_tok",
                                                          "output_router_logits",
                                                          "router_aux_loss_coef"});
  return std::find(kRead.begin(), kRead.end(), key) != kRead.end();
}

/// Attention over the last tokens only, in all layers or in some.
void look_at_window(const ConfigReader& reader, std::vector<ConfigDifference>& found) {
  const ModelType& type = reader.type();
  // Some types have a switch beside the size.
  constexpr const char* kSwitch = "use_sliding_window";
  const bool is_off = reader.is_null(kSwitch) || !reader.flag(kSwitch, !type.window_switch);
  const bool switched_off = !type.knows_no_switch && is_off;
  if (type.window_switch && !is_off) {
    found.push_back({kSwitch, true, "only false is implemented"});
  } else if (reader.is_missing("sliding_window") && type.window) {
    found.push_back({"sliding_window", *type.window,
                     fmt::format("that is what {} makes of the missing key; only null is implemented", type.name)});
  } else if (reader.has("sliding_window") && !switched_off) {
    found.push_back({"sliding_window", reader.object().at("sliding_window"), "only null is implemented"});
  }
  if (!reader.has("layer_types") || reader.object().at("layer_types").empty()) return;
  const Json& layers = reader.object().at("layer_types");
  const bool full = layers.is_array() && std::all_of(layers.begin(), layers.end(),
                                                     [](const Json& each) { return each == "full_attention"; });
  if (!full) {
    found.push_back({"layer_types", layers, "only \"full_attention\" of all layers is implemented"});
  } else if (const Index count = reader.size("num_hidden_layers", reader.type().layers);
             static_cast<Index>(layers.size()) != count) {
    found.push_back({"layer_types", layers, fmt::format("num_hidden_layers is {}, and each layer has one", count)});
  }
}

/// Keys whose value is not the harmless one.
void look_at_values(const ConfigReader& reader, std::vector<ConfigDifference>& found) {
  for (const auto& [key, harmless, refuses_null, other] : harmless_values()) {
    const auto entry = reader.object().find(key);
    if (entry == reader.object().end() || *entry == harmless || (!other.is_null() && *entry == other)) continue;
    if (refuses_null || !entry->empty()) {
      const std::string legal =
          other.is_null() ? shown(harmless) : fmt::format("{} or {}", shown(harmless), shown(other));
      found.push_back({std::string(key), *entry, fmt::format("only {} is implemented", legal)});
    }
  }
}

bool is_harmless_value(std::string_view key) {
  return std::any_of(harmless_values().begin(), harmless_values().end(),
                     [&](const HarmlessValue& each) { return each.key == key; });
}

/// Everything that parse_config() refuses and that changes no size.
std::vector<ConfigDifference> other_mathematics(const ConfigReader& reader) {
  std::vector<ConfigDifference> found;
  look_at_values(reader, found);
  for (const auto& [key, value] : reader.object().items()) {
    if (value.empty() || is_read(key) || says_no_mathematics(key) || is_harmless_value(key)) continue;
    if (!names_dropout(key)) {
      found.push_back(
          {key, value, "this key is not known; if it says nothing about the mathematics, take it out", true});
    } else if (value != 0) {
      found.push_back({key, value, "there is no dropout here, only 0"});
    }
  }
  look_at_window(reader, found);
  look_at_rope(reader, found);
  look_at_experts(reader, found);
  return found;
}

Index read_kv_heads(const ConfigReader& reader, Index heads) {
  const bool derived = reader.is_null("num_key_value_heads") && reader.type().null_kv_heads == NullMeans::derived;
  const Index kv_heads = derived ? heads : reader.size("num_key_value_heads", reader.type().kv_heads.value_or(heads));
  require(heads % kv_heads == 0,
          "{}: num_attention_heads is {} and num_key_value_heads is {}; the first must be a multiple of the second",
          reader.name(), heads, kv_heads);
  return kv_heads;
}

Index read_head_dim(const ConfigReader& reader, Index d_model, Index heads) {
  const bool derived = reader.is_missing("head_dim")
                           ? !reader.type().head_dim
                           : reader.is_null("head_dim") && reader.type().null_head_dim == NullMeans::derived;
  if (derived) {
    require(d_model % heads == 0,
            "{}: hidden_size is {} and num_attention_heads is {}; without head_dim the first must be a multiple of the "
            "second",
            reader.name(), d_model, heads);
  }
  const Index head_dim = derived ? d_model / heads : reader.size("head_dim", reader.type().head_dim.value_or(0));
  require(head_dim % 2 == 0, "{}: head_dim is {}; rotary positions turn pairs, so it must be even", reader.name(),
          head_dim);
  return head_dim;
}

ReadConfig read_sizes(ConfigReader& reader) {
  ReadConfig read;
  TransformerConfig& config = read.config;
  const ModelType& type = reader.type();
  config.vocab = reader.noted_size("vocab_size", type.vocab);
  config.d_model = reader.noted_size("hidden_size", type.d_model);
  config.layers = reader.noted_size("num_hidden_layers", type.layers);
  config.heads = reader.noted_size("num_attention_heads", type.heads);
  config.kv_heads = read_kv_heads(reader, config.heads);
  config.head_dim = read_head_dim(reader, config.d_model, config.heads);
  config.d_ff = reader.noted_size("intermediate_size", type.d_ff);
  config.experts = read_experts(reader);
  config.tied = reader.flag("tie_word_embeddings", type.tied);
  config.qkv_biases = type.qkv_biases;
  const double parameters =
      2.0 * static_cast<double>(config.vocab) * static_cast<double>(config.d_model) +
      static_cast<double>(config.layers) * static_cast<double>(config.d_model) *
          (2.0 * static_cast<double>(config.head_dim) * static_cast<double>(config.heads + config.kv_heads) +
           3.0 * static_cast<double>(std::max<Index>(1, config.experts.count)) * static_cast<double>(config.d_ff));
  require(parameters <= kMostParameters, "{}: that is {:.2g} parameters; at most {:g} are counted", reader.name(),
          parameters, kMostParameters);
  if (!reader.missing().empty()) {
    read.remarks.push_back(fmt::format("{}: what is missing is as in {}: {}", reader.name(), type.name,
                                       fmt::join(reader.missing(), ", ")));
  }
  return read;
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

namespace {

/// Nothing here depends on it, so values that are no such number are not refused.
Index longest_sequence(const ConfigReader& reader) {
  constexpr const char* kLongest = "max_position_embeddings";
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  if (!reader.has(kLongest)) return 0;
  const nlohmann::json& value = reader.object().at(kLongest);
  return value.is_number_integer() && value >= 1 && value <= kMost ? value.get<Index>() : 0;
}

}  // namespace

ReadConfig parse_config(std::string_view json_text, std::string_view name) {
  const std::string implemented = "implemented are " + model_type_names(true);
  ConfigReader reader(json_text, name, implemented);
  if (!reader.type().differs.empty()) {
    reader.refuse("model_type", reader.type().name, fmt::format("{}; {}", reader.type().differs, implemented));
  }
  const std::vector<ConfigDifference> other = other_mathematics(reader);
  if (!other.empty()) reader.refuse(other[0].key, other[0].value, other[0].legal);
  ReadConfig read = read_sizes(reader);
  TransformerConfig& config = read.config;
  config.rms_eps = reader.positive(reader.object(), "rms_norm_eps", reader.type().rms_eps, 1);
  const RopeSettings rope = read_rope(reader, reader.type().rope_theta);
  config.rope_theta = rope.theta;
  config.rope_scaling = rope.scaling;
  config.initializer_range = reader.positive(reader.object(), "initializer_range", config.initializer_range, 100);
  if (reader.has("hidden_act") && reader.object().at("hidden_act") == kGeglu) config.mlp = MlpForm::geglu;
  read.longest = longest_sequence(reader);
  return read;
}

ReadConfig parse_sizes(std::string_view json_text, std::string_view name) {
  ConfigReader reader(json_text, name, "counted are " + model_type_names(false));
  ReadConfig read = read_sizes(reader);
  std::vector<std::string> not_counted;
  const ModelType& type = reader.type();
  if (!type.not_counted.empty()) not_counted.push_back(fmt::format("{} of {}", type.not_counted, type.name));
  std::vector<std::string> unknown;
  for (const ConfigDifference& each : other_mathematics(reader))
    (each.unknown ? unknown : not_counted).push_back(each.key);
  if (!not_counted.empty()) {
    read.remarks.push_back(fmt::format("{}: not counted: {}", name, fmt::join(not_counted, ", ")));
  }
  if (!unknown.empty()) read.remarks.push_back(fmt::format("{}: not known: {}", name, fmt::join(unknown, ", ")));
  return read;
}

namespace {

/// The names of a model_type in a `config.json`, and the key, with its value, that says: no window, or no biases.
struct WrittenType {
  const char* name;
  const char* architecture;
  const char* key;
  nlohmann::json value;
};

WrittenType written_type(const TransformerConfig& config) {
  if (config.experts.count > 0) return {"mixtral", "MixtralForCausalLM", "sliding_window", nullptr};
  if (config.qkv_biases) return {"qwen2", "Qwen2ForCausalLM", "use_sliding_window", false};
  return {"llama", "LlamaForCausalLM", "attention_bias", false};
}

nlohmann::ordered_json keys_of(const TransformerConfig& config) {
  const WrittenType type = written_type(config);
  nlohmann::ordered_json keys = {
      {"model_type", type.name},
      {"architectures", {type.architecture}},
      {"vocab_size", config.vocab},
      {"hidden_size", config.d_model},
      {"intermediate_size", config.d_ff},
      {"num_hidden_layers", config.layers},
      {"num_attention_heads", config.heads},
      {"num_key_value_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"hidden_act", config.mlp == MlpForm::geglu ? kGeglu : "silu"},
      {"rms_norm_eps", config.rms_eps},
      {"rope_theta", config.rope_theta},
      {"rope_scaling", rope_scaling_json(config.rope_scaling)},
      {type.key, type.value},
      {"mlp_bias", false},
      {"attention_dropout", 0.0},
      {"tie_word_embeddings", config.tied},
      {"initializer_range", config.initializer_range},
  };
  if (config.experts.count > 0) add_experts(config.experts, keys);
  return keys;
}

}  // namespace

std::string to_json(const TransformerConfig& config) {
  SHARDLINE_CHECK(is_gated(config.mlp), "a config.json says a gated MLP");
  SHARDLINE_CHECK(config.experts.count == 0 || !config.qkv_biases, "no model_type has experts and biases");
  return keys_of(config).dump(2) + "\n";
}

std::string first_difference(const TransformerConfig& one, const TransformerConfig& other) {
  const nlohmann::ordered_json ours = keys_of(one);
  const nlohmann::ordered_json others = keys_of(other);
  for (const auto& [key, value] : ours.items()) {
    if (value != others.at(key))
      return fmt::format("{} is {} there and {} here", key, value.dump(), others.at(key).dump());
  }
  return "";
}

}  // namespace shardline
