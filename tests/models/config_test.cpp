#include "models/config.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/accounting.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

/// Values of keys as JSON text.
using Keys = std::map<std::string, std::string>;

/// A configuration with `changes` made to it; an empty value takes the key away.
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

TransformerConfig parse_with(const Keys& changes) { return parse_config(json_with(changes), "file.json"); }

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

TEST(Config, MissingKeysHaveTheDefaultsOfLlama) {
  const TransformerConfig config = parse_with({{"num_key_value_heads", ""},
                                               {"rms_norm_eps", ""},
                                               {"rope_theta", ""},
                                               {"initializer_range", ""},
                                               {"tie_word_embeddings", ""},
                                               {"hidden_act", ""},
                                               {"model_type", ""}});
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.rms_eps, 1e-6);
  EXPECT_EQ(config.rope_theta, 10000);
  EXPECT_EQ(config.initializer_range, 0.02);
  EXPECT_FALSE(config.tied);
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
}

struct Refusal {
  Keys changes;
  std::vector<std::string> words;  ///< all must stand in the message, beside the file's name
};

TEST(Config, RefusesWithFileKeyAndValue) {
  const std::vector<Refusal> refusals = {
      {{{"rope_scaling", R"({"type": "linear", "factor": 2.0})"}}, {"rope_scaling", "linear", "null"}},
      {{{"rope_parameters", R"({"rope_type": "llama3"})"}}, {"rope_parameters", "llama3", "default"}},
      {{{"partial_rotary_factor", "0.5"}}, {"partial_rotary_factor", "0.5"}},
      {{{"attention_bias", "true"}}, {"attention_bias", "true", "false"}},
      {{{"mlp_bias", "true"}}, {"mlp_bias", "true"}},
      {{{"sliding_window", "4096"}}, {"sliding_window", "4096"}},
      {{{"sliding_window", "4096"}, {"use_sliding_window", "true"}}, {"sliding_window", "4096"}},
      {{{"attention_dropout", "0.1"}}, {"attention_dropout", "0.1"}},
      {{{"resid_pdrop", "0.2"}}, {"resid_pdrop", "0.2"}},
      {{{"quantization_config", R"({"bits": 4})"}}, {"quantization_config", "4"}},
      {{{"hidden_act", "\"gelu\""}}, {"hidden_act", "gelu", "silu"}},
      {{{"model_type", "\"qwen2\""}}, {"model_type", "qwen2", "llama"}},
      {{{"model_type", "\"mistral\""}}, {"sliding_window", "missing", "mistral"}},
      {{{"num_key_value_heads", "3"}}, {"num_attention_heads is 8", "num_key_value_heads is 3", "multiple"}},
      {{{"num_key_value_heads", "16"}}, {"num_key_value_heads is 16"}},
      {{{"head_dim", "7"}}, {"head_dim is 7", "even"}},
      {{{"hidden_size", "72"}}, {"head_dim is 9", "even"}},
      {{{"hidden_size", "63"}}, {"hidden_size is 63", "num_attention_heads is 8"}},
      {{{"hidden_size", ""}}, {"hidden_size is missing"}},
      {{{"intermediate_size", ""}}, {"intermediate_size is missing"}},
      {{{"vocab_size", "null"}}, {"vocab_size is missing"}},
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

TEST(Config, WritesWhatItReads) {
  TransformerConfig config = parse_with({{"head_dim", "10"}});
  config.tied = true;
  EXPECT_EQ(parse_config(to_json(config), "again"), config);
  EXPECT_EQ(parse_config(to_json(tiny_config()), "again"), tiny_config());
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
