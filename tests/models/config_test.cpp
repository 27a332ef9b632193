#include "models/architecture/config.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/architecture/accounting.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

/// Values of keys as JSON text.
using Keys = std::map<std::string, std::string>;

/// A configuration with `changes`. An empty value removes the key.
std::string json_with(const Keys& changes) {
  Keys keys = {{"model_type", "\"llama\""},      {"vocab_size", "1000"},       {"hidden_size", "64"},
               {"intermediate_size", "160"},     {"num_hidden_layers", "3"},   {"num_attention_heads", "8"},
               {"num_key_value_heads", "2"},     {"rms_norm_eps", "1e-5"},     {"rope_theta", "500000.0"},
               {"tie_word_embeddings", "false"}, {"hidden_act", "\"silu\""},   {"initializer_range", "0.01"},
               {"torch_dtype", "\"bfloat16\""},  {"attention_dropout", "0.0"}, {"bos_token_id", "[1, 2]"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  std::string text;
  for (const auto& [key, value] : keys) {
    if (!value.empty()) text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, value);
  }
  return "{" + text + "}";
}

TransformerConfig parse_with(const Keys& changes) { return parse_config(json_with(changes), "file.json").config; }
ReadConfig sizes_with(const Keys& changes) { return parse_sizes(json_with(changes), "file.json"); }

TEST(Config, ReadsEveryKey) {
  const TransformerConfig config = parse_with({});
  EXPECT_EQ(config.vocab, 1000);
  EXPECT_EQ(config.d_model, 64);
  EXPECT_EQ(config.d_ff, 160);
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.heads, 8);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.rms_eps, 1e-5);
  EXPECT_EQ(config.rope_theta, 500000);
  EXPECT_EQ(config.initializer_range, 0.01);
  EXPECT_FALSE(config.tied);
}

TEST(Config, TheTanhFormOfGeluIsReadAndWritten) {
  const TransformerConfig config = parse_with({{"hidden_act", "\"gelu_pytorch_tanh\""}});
  EXPECT_EQ(config.mlp, MlpForm::geglu);
  EXPECT_EQ(parse_config(to_json(config), "written").config, config);
  EXPECT_EQ(parse_with({}).mlp, MlpForm::swiglu);
}

TEST(Config, MissingKeysHaveTheDefaultsOfLlama) {
  const TransformerConfig config = parse_with({{"num_key_value_heads", ""},
                                               {"rms_norm_eps", ""},
                                               {"rope_theta", ""},
                                               {"initializer_range", ""},
                                               {"tie_word_embeddings", ""},
                                               {"hidden_act", ""}});
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.rms_eps, 1e-6);
  EXPECT_EQ(config.rope_theta, 10000);
  EXPECT_EQ(config.initializer_range, 0.02);
  EXPECT_FALSE(config.tied);
}

TEST(Config, SizesThatAreMissingAreRemarked) {
  const ReadConfig read = parse_config(json_with({{"hidden_size", ""}, {"vocab_size", ""}}), "file.json");
  EXPECT_EQ(read.config.d_model, 4096);
  EXPECT_EQ(read.config.vocab, 32000);
  EXPECT_EQ(read.remarks,
            std::vector<std::string>{"file.json: what is missing is as in llama: vocab_size 32000, hidden_size 4096"});
  EXPECT_TRUE(parse_config(json_with({}), "file.json").remarks.empty());
}

struct TypeRow {
  const char* type;
  Keys changes;
  Index kv_heads;  ///< 0: refused
  Index head_dim;  ///< 0: refused
  bool tied;
};

/// 8 heads, d_model 64.
TEST(Config, MissingAndNullMeanWhatTheTypeMakesOfThem) {
  const Keys kMissing = {{"num_key_value_heads", ""}, {"tie_word_embeddings", ""}};
  const Keys kNullHeads = {{"num_key_value_heads", "null"}, {"head_dim", "8"}};
  const Keys kNullWidth = {{"head_dim", "null"}};
  const auto with_32_heads = [](Keys keys) {
    keys["num_attention_heads"] = "32";
    keys["hidden_size"] = "256";
    return keys;
  };
  const std::vector<TypeRow> rows = {
      {"llama", kMissing, 8, 8, false},
      {"llama", kNullHeads, 8, 8, false},
      {"llama", kNullWidth, 2, 8, false},
      {"mistral", kMissing, 8, 8, false},
      {"mistral", with_32_heads(kMissing), 8, 8, false},
      {"mistral", with_32_heads(kNullHeads), 32, 8, false},
      {"mistral", kNullWidth, 2, 8, false},
      {"mixtral", kMissing, 8, 8, false},
      {"mixtral", with_32_heads(kMissing), 8, 8, false},
      {"mixtral", with_32_heads(kNullHeads), 32, 8, false},
      {"mixtral", kNullWidth, 2, 8, false},
      {"qwen2", with_32_heads(kMissing), 32, 8, false},
      {"qwen2", kMissing, 0, 0, false},  // 32 of 8 heads
      {"qwen2", kNullHeads, 8, 8, false},
      {"qwen3", with_32_heads(kMissing), 32, 128, false},
      {"qwen3", kNullHeads, 8, 8, false},
      {"qwen3", kNullWidth, 0, 0, false},
      {"gemma", with_32_heads(kMissing), 16, 256, true},
      {"gemma", kNullHeads, 0, 0, true},
      {"gemma", kNullWidth, 0, 0, true},
      {"gemma2", kMissing, 4, 256, true},
      {"phi3", kMissing, 8, 8, false},
      {"phi3", kNullWidth, 0, 0, false},
      {"olmo2", kNullHeads, 8, 8, false},
      {"granite", kMissing, 8, 8, false},
  };
  for (const TypeRow& row : rows) {
    Keys changes = row.changes;
    changes["model_type"] = fmt::format("\"{}\"", row.type);
    const std::string text = json_with(changes);
    if (row.kv_heads == 0) {
      const std::string message = usage_error_of([&] { parse_sizes(text, "file.json"); });
      EXPECT_TRUE(message.find("head") != std::string::npos) << row.type << ": " << message;
      continue;
    }
    const TransformerConfig config = parse_sizes(text, "file.json").config;
    EXPECT_EQ(config.kv_heads, row.kv_heads) << text;
    EXPECT_EQ(config.head_dim, row.head_dim) << text;
    if (row.changes.count("tie_word_embeddings") > 0) {
      EXPECT_EQ(config.tied, row.tied) << text;
    }
  }
}

struct Published {
  const char* keys;
  Index parameters;   ///< as published
  Index not_counted;  ///< of these, counted by hand: see the remark
  const char* remark;
};

/// Totals of the weight files on the Hugging Face hub. The keys are the size keys of their configurations.
TEST(Config, CountsArePublishedCounts) {
  const std::vector<Published> models = {
      {R"("model_type": "qwen3", "vocab_size": 151936, "hidden_size": 4096, "num_hidden_layers": 36,
          "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288)",
       8190735360, Index{36} * 2 * 128, "file.json: not counted: norms of queries and keys of qwen3"},
      {R"("model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584, "num_hidden_layers": 28,
          "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
          "use_sliding_window": false, "sliding_window": 131072)",
       7615616512, 0, nullptr},
      {R"("model_type": "mistral", "vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
          "num_attention_heads": 32, "intermediate_size": 14336, "sliding_window": 4096)",
       7241732096, 0, "file.json: not counted: sliding_window"},
      {R"("model_type": "gemma", "vocab_size": 256000, "hidden_size": 3072, "num_hidden_layers": 28,
          "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 24576)",
       8537680896, 0, nullptr},
      {R"("model_type": "gemma2", "vocab_size": 256000, "hidden_size": 2304, "num_hidden_layers": 26,
          "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 9216, "sliding_window": null)",
       2614341888, Index{26} * 2 * 2304,
       "file.json: not counted: two more norms a layer, windows of every other layer of gemma2"},
      {R"("model_type": "phi3", "vocab_size": 32064, "hidden_size": 3072, "num_hidden_layers": 32,
          "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 8192)",
       3821079552, 0, nullptr},
      {R"("model_type": "olmo2", "vocab_size": 100352, "hidden_size": 4096, "num_hidden_layers": 32,
          "num_attention_heads": 32, "intermediate_size": 11008)",
       7298617344, Index{32} * 2 * 4096, "file.json: not counted: norms of queries and keys of olmo2"},
  };
  for (const Published& model : models) {
    const ReadConfig read = parse_sizes(fmt::format("{{{}}}", model.keys), "file.json");
    EXPECT_EQ(parameter_count(read.config), model.parameters - model.not_counted) << model.keys;
    const std::vector<std::string> remarks =
        model.remark == nullptr ? std::vector<std::string>{} : std::vector<std::string>{model.remark};
    EXPECT_EQ(read.remarks, remarks) << model.keys;
  }
}

TEST(Config, HeadDimNeedNotFollowFromTheWidth) {
  EXPECT_EQ(parse_with({{"head_dim", "128"}}).head_dim, 128);
  EXPECT_EQ(parse_with({{"head_dim", "6"}, {"hidden_size", "63"}}).head_dim, 6);
  EXPECT_EQ(parse_with({{"head_dim", "null"}}).head_dim, 8);
}

TEST(Config, AcceptsWhatDoesNotChangeTheMathematics) {
  EXPECT_EQ(parse_with({{"rope_scaling", "null"}, {"mlp_bias", "false"}, {"quantization_config", "null"}}).d_model, 64);
  EXPECT_EQ(parse_with({{"use_sliding_window", "false"}, {"sliding_window", "4096"}}).d_model, 64);
  EXPECT_EQ(parse_with({{"model_type", "\"mistral\""}, {"sliding_window", "null"}}).kv_heads, 2);
  EXPECT_EQ(parse_with({{"rope_theta", ""}, {"rope_parameters", R"({"rope_type": "default", "rope_theta": 7e3})"}})
                .rope_theta,
            7000);
  // An empty object, or an object with defaults only. The object for scaling has precedence.
  EXPECT_EQ(parse_with({{"rope_scaling", "{}"}, {"quantization_config", "{}"}, {"pruned_heads", "{}"}}).d_model, 64);
  EXPECT_EQ(parse_with({{"rope_scaling", R"({"type": "default", "rope_theta": 6e3})"},
                        {"rope_parameters", R"({"rope_theta": 7e3, "partial_rotary_factor": 1.0})"}})
                .rope_theta,
            6000);
  const char* const kLayers = R"(["full_attention", "full_attention", "full_attention"])";
  EXPECT_EQ(parse_with({{"layer_types", "[]"}, {"window_of_layers", "null"}}).d_model, 64);
  EXPECT_EQ(parse_with({{"layer_types", kLayers}, {"mlp_bias", "null"}}).d_model, 64);
  // Keys in published configurations of LLaMA-like models.
  EXPECT_EQ(parse_with({{"_name_or_path", "\"a\""},
                        {"architectures", R"(["LlamaForCausalLM"])"},
                        {"bos_token_id", "1"},
                        {"eos_token_id", "[1, 2]"},
                        {"is_llama_config", "true"},
                        {"max_position_embeddings", "8192"},
                        {"pad_token_id", "2"},
                        {"pretraining_tp", "1"},
                        {"rope_interleaved", "false"},
                        {"torch_dtype", "\"bfloat16\""},
                        {"transformers.js_config", R"({"kv_cache_dtype": {"q4f16": "float16"}})"},
                        {"transformers_version", "\"4.42.3\""},
                        {"use_cache", "true"}})
                .d_model,
            64);
}

TEST(Config, PlansCountWhatTrainingRefuses) {
  const ReadConfig read =
      sizes_with({{"rope_parameters", R"({"full_attention": {"rope_type": "linear", "factor": 2}})"},
                  {"attention_dropout", "0.1"},
                  {"quantization_config", R"({"bits": 4})"}});
  EXPECT_EQ(read.config, sizes_with({}).config);
  EXPECT_EQ(read.remarks,
            std::vector<std::string>{
                "file.json: not counted: quantization_config, attention_dropout, rope_parameters.full_attention"});
}

TEST(Config, PlansNameWhatTheyDoNotKnow) {
  EXPECT_EQ(sizes_with({{"mup_scale", "0.5"}}).remarks, std::vector<std::string>{"file.json: not known: mup_scale"});
}

/// The values that LLaMA 3.1 has, with changes. An empty value removes the key.
std::string llama3(const Keys& changes) {
  Keys keys = {{"rope_type", "\"llama3\""},
               {"factor", "8.0"},
               {"low_freq_factor", "1.0"},
               {"high_freq_factor", "4.0"},
               {"original_max_position_embeddings", "8192"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  std::string text;
  for (const auto& [key, value] : keys) {
    if (!value.empty()) text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, value);
  }
  return "{" + text + "}";
}

TEST(Config, ReadsTheScalingOfLlama3InBothSpellings) {
  const kernels::RopeScaling wanted{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_positions = 8192};
  const Keys old_type = {{"rope_type", ""}, {"type", "\"llama3\""}};
  for (const std::string& object : {llama3({}), llama3(old_type), llama3({{"type", "\"llama3\""}})}) {
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
      const TransformerConfig config = parse_with({{key, object}, {"original_max_position_embeddings", "8192"}});
      EXPECT_EQ(config.rope_scaling, wanted) << key;
      EXPECT_EQ(config.rope_theta, 500000);
      EXPECT_EQ(parse_config(to_json(config), "again").config, config);
    }
  }
  const TransformerConfig inside =
      parse_with({{"rope_theta", ""}, {"rope_parameters", llama3({{"rope_theta", "7e3"}})}});
  EXPECT_EQ(inside.rope_theta, 7000);
  EXPECT_EQ(inside.rope_scaling, wanted);
  // rope_scaling goes before.
  EXPECT_FALSE(parse_with({{"rope_scaling", R"({"type": "default"})"}, {"rope_parameters", llama3({})}}).rope_scaling);
  EXPECT_EQ(parse_with({{"rope_scaling", "{}"}, {"rope_parameters", llama3({})}}).rope_scaling, wanted);
  EXPECT_FALSE(parse_with({}).rope_scaling);
  EXPECT_TRUE(sizes_with({{"rope_scaling", llama3({})}}).remarks.empty());
  EXPECT_EQ(sizes_with({{"rope_scaling", R"({"rope_type": "yarn", "factor": 4.0})"}}).remarks,
            std::vector<std::string>{"file.json: not counted: rope_scaling.rope_type"});
}

TEST(Config, Qwen2HasBiasesAndAWindowOnlyBySwitch) {
  const Keys qwen2 = {{"model_type", "\"qwen2\""}, {"max_window_layers", "28"}};
  const auto with = [&](Keys keys) {
    keys.insert(qwen2.begin(), qwen2.end());
    return parse_with(keys);
  };
  EXPECT_TRUE(with({}).qkv_biases);
  EXPECT_EQ(with({{"sliding_window", "4096"}}), with({}));
  EXPECT_EQ(with({{"sliding_window", "4096"}, {"use_sliding_window", "false"}}), with({}));
  const std::string written = to_json(with({{"tie_word_embeddings", "true"}}));
  EXPECT_EQ(parse_config(written, "again").config, with({{"tie_word_embeddings", "true"}}));
  EXPECT_NE(written.find(R"("Qwen2ForCausalLM")"), std::string::npos);
  EXPECT_FALSE(parse_with({}).qkv_biases);
  EXPECT_EQ(first_difference(with({}), parse_with({})), R"(model_type is "qwen2" there and "llama" here)");
}

Keys mixtral_with(Keys changes) {
  changes.insert({"model_type", "\"mixtral\""});
  return changes;
}

TEST(Config, MixtralHasExperts) {
  const Keys bare = mixtral_with({{"rms_norm_eps", ""}, {"rope_theta", ""}});
  const TransformerConfig config = parse_with(bare);
  EXPECT_EQ(config.experts, (Experts{.count = 8, .chosen = 2}));
  EXPECT_EQ(config.rms_eps, 1e-5);
  EXPECT_EQ(config.rope_theta, 1e6);
  EXPECT_EQ(sizes_with(bare).config.experts, config.experts);
  const ReadConfig read = parse_config(json_with(bare), "file.json");
  EXPECT_EQ(read.remarks, std::vector<std::string>{"file.json: what is missing is as in mixtral: num_local_experts 8, "
                                                   "num_experts_per_tok 2"});

  // As the file of Mixtral 8x7B has them. Its window is null.
  const Keys published = mixtral_with({{"num_local_experts", "5"},
                                       {"num_experts_per_tok", "5"},
                                       {"output_router_logits", "false"},
                                       {"router_aux_loss_coef", "0.02"},
                                       {"router_jitter_noise", "0.0"},
                                       {"sliding_window", "null"}});
  EXPECT_EQ(parse_with(published).experts, (Experts{.count = 5, .chosen = 5}));
  EXPECT_TRUE(parse_config(json_with(published), "file.json").remarks.empty());
  EXPECT_TRUE(sizes_with(published).remarks.empty());
  EXPECT_EQ(sizes_with(mixtral_with({{"num_local_experts", "1"},
                                     {"num_experts_per_tok", "1"},
                                     {"router_jitter_noise", "0.1"},
                                     {"sliding_window", "4096"}}))
                .remarks,
            std::vector<std::string>{"file.json: not counted: router_jitter_noise, sliding_window"});
}

/// Only then does the loss of Hugging Face's training have it.
TEST(Config, TheBalancingLossCountsWithRouterLogits) {
  const auto balance = [](const char* logits, const char* coefficient) {
    return parse_with(mixtral_with({{"output_router_logits", logits}, {"router_aux_loss_coef", coefficient}}))
        .experts.balance;
  };
  EXPECT_EQ(balance("", "0.5"), 0);
  EXPECT_EQ(balance("false", "0.5"), 0);
  EXPECT_EQ(balance("true", "0.5"), 0.5);
  EXPECT_EQ(balance("true", "0"), 0);
  EXPECT_EQ(balance("true", ""), 0.001);
}

TEST(Config, ExpertsAreWrittenAsMixtral) {
  // Of a LLaMA. Nothing else is different.
  TransformerConfig config = parse_with({{"head_dim", "10"}, {"tie_word_embeddings", "true"}});
  config.experts = {.count = 6, .chosen = 3};
  for (const double balance : {0.0, 0.25}) {
    config.experts.balance = balance;
    EXPECT_EQ(parse_config(to_json(config), "again").config, config);
  }
  const std::string written = to_json(config);
  for (const char* line : {R"("model_type": "mixtral")", R"("MixtralForCausalLM")", R"("sliding_window": null)",
                           R"("num_local_experts": 6)", R"("num_experts_per_tok": 3)",
                           R"("output_router_logits": true)", R"("router_aux_loss_coef": 0.25)"}) {
    EXPECT_NE(written.find(line), std::string::npos) << line;
  }
  TransformerConfig other = config;
  other.experts.chosen = 2;
  EXPECT_EQ(first_difference(config, other), "num_experts_per_tok is 3 there and 2 here");
  other.experts = {};
  EXPECT_EQ(first_difference(config, other), R"(model_type is "mixtral" there and "llama" here)");
}

struct Refusal {
  Keys changes;
  std::vector<std::string> words;  ///< the message must contain all of them and the file's name
};

TEST(Config, RefusesWithFileKeyAndValue) {
  const std::vector<Refusal> refusals = {
      {{{"rope_scaling", R"({"type": "linear", "factor": 2.0})"}},
       {"rope_scaling.type is \"linear\"; only \"default\" and \"llama3\" are implemented"}},
      {{{"rope_scaling", R"({"rope_type": "dynamic", "factor": 2.0})"}}, {"rope_scaling.rope_type is \"dynamic\""}},
      {{{"rope_scaling", R"({"type": "yarn", "factor": 4.0})"}}, {"rope_scaling.type is \"yarn\""}},
      {{{"rope_parameters", R"({"rope_type": "longrope", "long_factor": [1.0]})"}},
       {"rope_parameters.rope_type is \"longrope\"", "llama3"}},
      {{{"rope_scaling", R"({"rope_type": null})"}}, {"rope_scaling.rope_type is null", "llama3"}},
      {{{"rope_scaling", R"({"type": "default", "factor": 2.0})"}}, {"rope_scaling.factor is 2.0"}},
      {{{"rope_scaling", "2"}}, {"rope_scaling is 2", "object"}},
      {{{"rope_parameters", R"({"rope_type": "llama3"})"}},
       {"rope_parameters.factor is missing; rope_type \"llama3\" needs factor, low_freq_factor, high_freq_factor, "
        "original_max_position_embeddings"}},
      {{{"rope_scaling", llama3({{"low_freq_factor", ""}})}}, {"rope_scaling.low_freq_factor is missing"}},
      {{{"rope_scaling", llama3({{"original_max_position_embeddings", ""}})}},
       {"rope_scaling.original_max_position_embeddings is missing"}},
      {{{"rope_scaling", llama3({{"factor", "0.5"}})}}, {"rope_scaling.factor is 0.5", "from 1 to 1e+09"}},
      {{{"rope_scaling", llama3({{"factor", "\"8\""}})}}, {"rope_scaling.factor is \"8\"", "a number"}},
      {{{"rope_scaling", llama3({{"low_freq_factor", "0"}})}}, {"rope_scaling.low_freq_factor is 0"}},
      {{{"rope_scaling", llama3({{"high_freq_factor", "1.0"}})}},
       {"rope_scaling.high_freq_factor is 1.0; it must be larger than low_freq_factor, which is 1.0"}},
      {{{"rope_scaling", llama3({{"original_max_position_embeddings", "8192.5"}})}},
       {"original_max_position_embeddings is 8192.5", "whole number"}},
      {{{"rope_scaling", llama3({})}, {"original_max_position_embeddings", "4096"}},
       {"rope_scaling.original_max_position_embeddings is 8192; outside of rope_scaling it is 4096"}},
      {{{"rope_scaling", llama3({{"type", "\"default\""}})}},
       {"rope_scaling.type is \"default\"; rope_type is \"llama3\""}},
      {{{"rope_scaling", llama3({{"attention_factor", "1.0"}})}}, {"rope_scaling.attention_factor is 1.0"}},
      {{{"rope_parameters", R"({"partial_rotary_factor": 0.5})"}}, {"rope_parameters.partial_rotary_factor is 0.5"}},
      {{{"rope_parameters", R"({"full_attention": {"rope_type": "linear", "factor": 2}})"}},
       {"rope_parameters.full_attention is", "linear"}},
      {{{"rope_parameters", R"({"rope_theta": 1e4, "mrope_section": [16, 24, 24]})"}},
       {"rope_parameters.mrope_section is [16,24,24]"}},
      {{{"rope_parameters", R"({"rope_theta": null})"}}, {"rope_theta is null", "positive"}},
      {{{"text_config", R"({"hidden_size": 64})"}}, {"text_config", "not known"}},
      {{{"compression_config", R"({"bits": 4})"}}, {"compression_config", "not known"}},
      {{{"layer_types", R"(["full_attention", "sliding_attention"])"}}, {"layer_types", "sliding_attention"}},
      {{{"final_logit_softcapping", "30.0"}}, {"final_logit_softcapping is 30.0", "null"}},
      {{{"num_local_experts", "8"}},
       {"num_local_experts is 8; experts of llama are not implemented, only those of mixtral are"}},
      {{{"num_experts_per_tok", "2"}}, {"num_experts_per_tok is 2; llama has no experts"}},
      {{{"router_aux_loss_coef", "0.1"}}, {"router_aux_loss_coef is 0.1; llama has no experts"}},
      {{{"output_router_logits", "true"}}, {"output_router_logits is true; llama has no experts"}},
      {mixtral_with({{"num_experts_per_tok", "9"}}),
       {"num_experts_per_tok is 9 and num_local_experts is 8; the first must be from 1 to the second"}},
      {mixtral_with({{"num_local_experts", "1"}}), {"num_experts_per_tok is 2 and num_local_experts is 1"}},
      {mixtral_with({{"num_experts_per_tok", "0"}}), {"num_experts_per_tok is 0; it must be a whole number from 1"}},
      {mixtral_with({{"num_local_experts", "0"}}), {"num_local_experts is 0", "from 1"}},
      {mixtral_with({{"num_local_experts", "null"}}), {"num_local_experts is null", "from 1"}},
      {mixtral_with({{"num_local_experts", "2147483647"}, {"hidden_size", "1048576"}}), {"parameters", "1e+15"}},
      {mixtral_with({{"num_experts", "8"}}), {"num_experts is 8; the key of mixtral is num_local_experts"}},
      {mixtral_with({{"n_routed_experts", "8"}}), {"n_routed_experts is 8; the key of mixtral is num_local_experts"}},
      {mixtral_with({{"router_jitter_noise", "0.1"}}), {"router_jitter_noise is 0.1; only 0 is implemented"}},
      {mixtral_with({{"router_aux_loss_coef", "-0.1"}}),
       {"router_aux_loss_coef is -0.1; it must be a number from 0 to 100"}},
      {mixtral_with({{"router_aux_loss_coef", "null"}}), {"router_aux_loss_coef is null"}},
      {mixtral_with({{"output_router_logits", "1"}}), {"output_router_logits is 1; it must be true or false"}},
      {mixtral_with({{"sliding_window", "4096"}}), {"sliding_window is 4096; only null is implemented"}},
      {mixtral_with({{"sliding_window", "4096"}, {"use_sliding_window", "false"}}), {"sliding_window is 4096"}},
      {mixtral_with({{"hidden_act", "\"gelu_pytorch_tanh\""}}),
       {"hidden_act is \"gelu_pytorch_tanh\"; with experts only \"silu\" is implemented"}},
      {mixtral_with({{"attention_bias", "true"}}), {"attention_bias is true"}},
      {mixtral_with({{"attention_dropout", "0.1"}}), {"attention_dropout is 0.1"}},
      {{{"model_type", "\"qwen2_moe\""}, {"num_experts", "60"}},
       {"model_type is \"qwen2_moe\"; implemented are llama, mistral, mixtral, qwen2"}},
      {{{"model_type", "\"deepseek_v3\""}, {"n_routed_experts", "256"}}, {"model_type is \"deepseek_v3\""}},
      {{{"partial_rotary_factor", "0.5"}}, {"partial_rotary_factor", "0.5"}},
      {{{"rotary_pct", "0.25"}}, {"rotary_pct", "0.25", "only 1 is implemented"}},
      {{{"clip_qkv", "8"}}, {"clip_qkv", "8", "only null is implemented"}},
      {{{"is_causal", "false"}}, {"is_causal", "false", "only true is implemented"}},
      {{{"attention_bias", "true"}}, {"attention_bias", "true", "false"}},
      {{{"mlp_bias", "true"}}, {"mlp_bias", "true"}},
      {{{"sliding_window", "4096"}}, {"sliding_window", "4096"}},
      {{{"sliding_window", "4096"}, {"use_sliding_window", "true"}}, {"sliding_window", "4096"}},
      {{{"attention_dropout", "0.1"}}, {"attention_dropout", "0.1"}},
      {{{"resid_pdrop", "0.2"}}, {"resid_pdrop", "0.2"}},
      {{{"quantization_config", R"({"bits": 4})"}}, {"quantization_config", "4"}},
      {{{"hidden_act", "\"gelu\""}}, {"hidden_act", "gelu", "only \"silu\" or \"gelu_pytorch_tanh\" is implemented"}},
      {{{"model_type", "\"qwen2\""}, {"use_sliding_window", "true"}},
       {"use_sliding_window is true; only false is implemented"}},
      {{{"model_type", "\"qwen2\""}, {"use_sliding_window", "true"}, {"sliding_window", "4096"}},
       {"use_sliding_window is true; only false is implemented"}},
      {{{"model_type", "\"qwen2\""}, {"attention_bias", "true"}}, {"attention_bias", "true", "false"}},
      {{{"use_sliding_window", "3"}}, {"use_sliding_window is 3; it must be true or false"}},
      {{{"model_type", "\"qwen3\""}}, {"model_type", "qwen3", "norms of queries", "llama, mistral, mixtral, qwen2"}},
      {{{"model_type", "\"gpt2\""}}, {"model_type is \"gpt2\"; implemented are llama, mistral"}},
      {{{"model_type", ""}}, {"model_type is missing; implemented are llama, mistral"}},
      {{{"model_type", "null"}}, {"model_type is null"}},
      {{{"model_type", "[\"llama\"]"}}, {"model_type is [\"llama\"]"}},
      {{{"model_type", "\"mistral\""}}, {"sliding_window is 4096", "missing", "mistral"}},
      {{{"model_type", "\"mistral\""}, {"sliding_window", "4096"}, {"use_sliding_window", "false"}},
       {"sliding_window is 4096"}},
      {{{"num_key_value_heads", "3"}}, {"num_attention_heads is 8", "num_key_value_heads is 3", "multiple"}},
      {{{"num_key_value_heads", "16"}}, {"num_key_value_heads is 16"}},
      {{{"head_dim", "7"}}, {"head_dim is 7", "even"}},
      {{{"hidden_size", "72"}}, {"head_dim is 9", "even"}},
      {{{"hidden_size", "63"}}, {"hidden_size is 63", "num_attention_heads is 8"}},
      {{{"vocab_size", "null"}}, {"vocab_size is null"}},
      {{{"head_dim", "0"}}, {"head_dim is 0"}},
      {{{"tie_word_embeddings", "null"}}, {"tie_word_embeddings is null"}},
      {{{"rms_norm_eps", "null"}}, {"rms_norm_eps is null"}},
      {{{"num_hidden_layers", "0"}}, {"num_hidden_layers is 0", "from 1"}},
      {{{"num_hidden_layers", "-2"}}, {"num_hidden_layers is -2"}},
      {{{"num_attention_heads", "8.0"}}, {"num_attention_heads is 8.0", "whole number"}},
      {{{"vocab_size", "\"many\""}}, {"vocab_size is \"many\""}},
      {{{"vocab_size", "18446744073709551615"}}, {"vocab_size is 18446744073709551615"}},
      {{{"vocab_size", "9223372036854775807"}}, {"vocab_size is 9223372036854775807"}},
      {{{"rms_norm_eps", "0"}}, {"rms_norm_eps is 0", "positive"}},
      {{{"rope_theta", "\"big\""}}, {"rope_theta is \"big\""}},
      {{{"initializer_range", "-1"}}, {"initializer_range is -1"}},
      {{{"tie_word_embeddings", "1"}}, {"tie_word_embeddings is 1", "true or false"}},
      {{{"norm_type", "\"layernorm\""}}, {"norm_type is \"layernorm\"", "only \"rms_norm\""}},
      {{{"no_rope_layers", "[1, 1, 0]"}}, {"no_rope_layers is [1,1,0]", "only null"}},
      {{{"rope_interleaved", "true"}}, {"rope_interleaved is true", "only false"}},
      {{{"moe_intermediate_size", "768"}}, {"moe_intermediate_size is 768"}},
      {{{"mup_scale", "0.5"}}, {"mup_scale is 0.5", "not known", "take it out"}},
      {{{"window_of_layers", "[1]"}}, {"window_of_layers is [1]", "not known"}},
      {{{"hidden_act", "null"}}, {"hidden_act is null", "silu"}},
      {{{"hidden_act", "[]"}}, {"hidden_act is []", "silu"}},
      {{{"layer_types", R"(["full_attention"])"}}, {"layer_types is", "num_hidden_layers is 3"}},
      {{{"num_hidden_layers", "2147483647"}}, {"num_hidden_layers is 2147483647", "from 1 to 10000"}},
      {{{"hidden_size", "2147483646"}, {"head_dim", "2147483646"}}, {"parameters", "1e+15"}},
      {{{"rms_norm_eps", "1e-320"}}, {"rms_norm_eps is 1e-320", "from 1.2e-38 to 1"}},
      {{{"rms_norm_eps", "1e300"}}, {"rms_norm_eps is 1e+300", "to 1"}},
      {{{"initializer_range", "1e300"}}, {"initializer_range is 1e+300", "to 100"}},
      {{{"rope_theta", "1e300"}}, {"rope_theta is 1e+300"}},
  };
  for (const Refusal& refusal : refusals) {
    const std::string message = usage_error_of([&] { parse_with(refusal.changes); });
    EXPECT_EQ(message.rfind("file.json: ", 0), 0U) << message;
    for (const std::string& word : refusal.words) EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

TEST(Config, RefusesWhatIsNotAnObject) {
  for (const char* text : {"", "{", "[1]", "3", "{\"a\": }", "\xff"}) {
    const std::string message = usage_error_of([&] { parse_config(text, "file.json"); });
    EXPECT_EQ(message.rfind("file.json: ", 0), 0U) << message;
  }
}

TEST(Config, RefusesKeysTwiceAndDeepNesting) {
  const auto refused = [](const std::string& key_and_value) {
    const std::string text = json_with({});
    return usage_error_of([&] { parse_config("{" + key_and_value + ", " + text.substr(1), "file.json"); });
  };
  EXPECT_EQ(refused(R"("hidden_size": 32)"), R"(file.json: the configuration has "hidden_size" twice)");
  EXPECT_EQ(refused(R"("rope_parameters": {"rope_theta": 1, "rope_theta": 2})"),
            R"(file.json: the configuration has "rope_theta" twice)");
  EXPECT_EQ(refused(R"("a": [{"b": 1}, {"b": 1}], "c": {"b": {"b": 1}}, "d": 1, "d": 1)"),
            R"(file.json: the configuration has "d" twice)");
  const std::string nested = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(refused(R"("a": )" + nested), "file.json: the configuration is nested deeper than 16 levels");
}

TEST(Config, WritesWhatItReads) {
  TransformerConfig config = parse_with({{"head_dim", "10"}});
  config.tied = true;
  EXPECT_EQ(parse_config(to_json(config), "again").config, config);
  EXPECT_EQ(parse_config(to_json(tiny_config()), "again").config, tiny_config());
}

TEST(Config, TinyIsTiny) {
  const TransformerConfig tiny = tiny_config();
  EXPECT_EQ(tiny.vocab, 256);
  EXPECT_EQ(tiny.heads % tiny.kv_heads, 0);
  EXPECT_EQ(tiny.head_dim % 2, 0);
  EXPECT_GE(parameter_count(tiny), 1'000'000);
  EXPECT_LE(parameter_count(tiny), 2'000'000);
}

}  // namespace
}  // namespace shardline
