#include "models/gguf/gguf_model.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "models/gguf/gguf_writer.h"
#include "runtime/base/result_error.h"
#include "tests/models/checkpoint/hand_made_file.h"
#include "tests/models/gguf/gguf_reader.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

using Weights = std::vector<std::pair<std::string, HandMadeTensor>>;

/// A tensor of the whole numbers from `first` on, which f32 holds.
HandMadeTensor counted(const Shape& shape, int first) {
  HandMadeTensor tensor{.shape = shape, .values = {}};
  for (Index i = 0; i < element_count(shape); ++i) tensor.values.push_back(first + static_cast<double>(i));
  return tensor;
}

/// The weights of a model under the names of Hugging Face, all numbers different.
Weights weights_of(const TransformerConfig& c) {
  Weights weights;
  int first = 1;
  const auto add = [&](const std::string& name, const Shape& shape) {
    weights.emplace_back(name, counted(shape, first));
    first += static_cast<int>(element_count(shape));
  };
  const Index q = c.heads * c.head_dim;
  const Index k = c.kv_heads * c.head_dim;
  add("model.embed_tokens.weight", {c.vocab, c.d_model});
  for (Index layer = 0; layer < c.layers; ++layer) {
    const std::string at = fmt::format("model.layers.{}.", layer);
    add(at + "input_layernorm.weight", {c.d_model});
    for (const auto& [name, rows] : {std::pair("q", q), std::pair("k", k), std::pair("v", k)}) {
      add(fmt::format("{}self_attn.{}_proj.weight", at, name), {rows, c.d_model});
      if (c.qkv_biases) add(fmt::format("{}self_attn.{}_proj.bias", at, name), {rows});
    }
    add(at + "self_attn.o_proj.weight", {c.d_model, q});
    add(at + "post_attention_layernorm.weight", {c.d_model});
    if (c.experts.count == 0) {
      add(at + "mlp.gate_proj.weight", {c.d_ff, c.d_model});
      add(at + "mlp.up_proj.weight", {c.d_ff, c.d_model});
      add(at + "mlp.down_proj.weight", {c.d_model, c.d_ff});
    } else {
      add(at + "block_sparse_moe.gate.weight", {c.experts.count, c.d_model});
    }
    for (Index expert = 0; expert < c.experts.count; ++expert) {
      const std::string of_expert = fmt::format("{}block_sparse_moe.experts.{}.", at, expert);
      add(of_expert + "w1.weight", {c.d_ff, c.d_model});
      add(of_expert + "w2.weight", {c.d_model, c.d_ff});
      add(of_expert + "w3.weight", {c.d_ff, c.d_model});
    }
  }
  add("model.norm.weight", {c.d_model});
  if (!c.tied) add("lm_head.weight", {c.vocab, c.d_model});
  return weights;
}

std::vector<double> values_of(const Weights& weights, const std::string& name) {
  for (const auto& [each, tensor] : weights) {
    if (each == name) return tensor.values;
  }
  ADD_FAILURE() << "no weight " << name;
  return {};
}

/// The file that is written for these weights.
GgufReader exported(const TransformerConfig& config, const Weights& weights, GgufType type = GgufType::f32) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", hand_made_file(weights));
  const std::string path = folder.path("m.gguf");
  const GgufModel model = gguf_model(config, 77, type);
  Index last = 0;
  write_gguf(model, WeightFiles(folder.path()), path, [&](Index bytes) {
    EXPECT_GE(bytes, last);
    last = bytes;
  });
  EXPECT_EQ(last, layout_of(model).bytes);
  EXPECT_EQ(static_cast<Index>(std::filesystem::file_size(path)), last);
  return GgufReader(path);
}

TransformerConfig small_config() {
  return {.vocab = 5, .d_model = 6, .layers = 2, .heads = 4, .kv_heads = 2, .head_dim = 8, .d_ff = 3, .rms_eps = 1e-5};
}

using Dims = std::vector<std::uint64_t>;

/// The tensor has these dims, rows first, and the numbers of this weight in their order.
void expect_copy(const GgufReader& file, const std::string& tensor, const Dims& dims, const Weights& weights,
                 const std::string& weight) {
  ASSERT_TRUE(file.tensors.contains(tensor)) << tensor;
  EXPECT_EQ(file.tensors.at(tensor).dims, dims) << tensor;
  EXPECT_EQ(file.tensors.at(tensor).type, 0U) << tensor;
  EXPECT_EQ(numbers_of(file.tensors.at(tensor)), values_of(weights, weight)) << tensor;
}

TEST(GgufModel, HasTheTensorsAndSizesOfLlama) {
  const TransformerConfig config = small_config();
  const Weights weights = weights_of(config);
  const GgufReader file = exported(config, weights);
  EXPECT_EQ(file.tensors.size(), 3U + 2 * 9);
  expect_copy(file, "token_embd.weight", {6, 5}, weights, "model.embed_tokens.weight");
  expect_copy(file, "output_norm.weight", {6}, weights, "model.norm.weight");
  expect_copy(file, "output.weight", {6, 5}, weights, "lm_head.weight");
  for (const std::string layer : {"0", "1"}) {
    const std::string to = "blk." + layer + ".";
    const std::string from = "model.layers." + layer + ".";
    expect_copy(file, to + "attn_norm.weight", {6}, weights, from + "input_layernorm.weight");
    expect_copy(file, to + "attn_v.weight", {6, 16}, weights, from + "self_attn.v_proj.weight");
    expect_copy(file, to + "attn_output.weight", {32, 6}, weights, from + "self_attn.o_proj.weight");
    expect_copy(file, to + "ffn_norm.weight", {6}, weights, from + "post_attention_layernorm.weight");
    expect_copy(file, to + "ffn_gate.weight", {6, 3}, weights, from + "mlp.gate_proj.weight");
    expect_copy(file, to + "ffn_up.weight", {6, 3}, weights, from + "mlp.up_proj.weight");
    expect_copy(file, to + "ffn_down.weight", {3, 6}, weights, from + "mlp.down_proj.weight");
    EXPECT_EQ(file.tensors.at(to + "attn_q.weight").dims, (Dims{6, 32}));
    EXPECT_EQ(file.tensors.at(to + "attn_k.weight").dims, (Dims{6, 16}));
  }
  EXPECT_EQ(file.values, (nlohmann::json{{"general.architecture", "llama"},
                                         {"general.file_type", 0},
                                         {"llama.vocab_size", 5},
                                         {"llama.context_length", 77},
                                         {"llama.embedding_length", 6},
                                         {"llama.block_count", 2},
                                         {"llama.feed_forward_length", 3},
                                         {"llama.attention.head_count", 4},
                                         {"llama.attention.head_count_kv", 2},
                                         {"llama.attention.key_length", 8},
                                         {"llama.attention.value_length", 8},
                                         {"llama.rope.dimension_count", 8},
                                         {"llama.attention.layer_norm_rms_epsilon", 1e-5F},
                                         {"llama.rope.freq_base", 10000.0F}}));
}

TEST(GgufModel, TiedHasNoOutputProjection) {
  TransformerConfig config = small_config();
  config.tied = true;
  const GgufReader file = exported(config, weights_of(config));
  EXPECT_FALSE(file.tensors.contains("output.weight"));
}

/// Values of a weight in elements [row, column].
double at(const std::vector<double>& values, std::size_t columns, std::size_t row, std::size_t column) {
  return values[row * columns + column];
}

/// W x + b of a head: H rows from `first` on. `b` may be empty.
std::vector<double> head_of(const std::vector<double>& w, const std::vector<double>& b, const std::vector<double>& x,
                            std::size_t first, std::size_t size) {
  std::vector<double> result;
  for (std::size_t row = first; row < first + size; ++row) {
    double sum = b.empty() ? 0 : b[row];
    for (std::size_t column = 0; column < x.size(); ++column) sum += at(w, x.size(), row, column) * x[column];
    result.push_back(sum);
  }
  return result;
}

/// Turns the elements `one` and `other` of a head by `angle`.
void turn(std::vector<double>& head, std::size_t one, std::size_t other, double angle) {
  const double a = head[one];
  const double b = head[other];
  head[one] = a * std::cos(angle) - b * std::sin(angle);
  head[other] = a * std::sin(angle) + b * std::cos(angle);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The product of a query and a key, each turned by its position, by hand: in pairs (i, i + H/2) as Hugging Face has
/// them, and in pairs (2i, 2i + 1) as llama.cpp's architecture "llama" has them.
TEST(GgufModel, TurnedQueriesAndKeysHaveTheSameProducts) {
  TransformerConfig config = small_config();
  config.qkv_biases = true;  // 4 heads of 8 are no 6, so this is no qwen2
  const Weights weights = weights_of(config);
  const GgufReader file = exported(config, weights);
  EXPECT_EQ(file.values["general.architecture"], "llama");
  constexpr std::size_t kHalf = 4;
  const std::array<std::vector<double>, 2> x{std::vector<double>{3, -1, 4, 1, -5, 9}, {2, 7, -1, -8, 2, 8}};
  const std::string from = "model.layers.1.self_attn.";
  const std::string to = "blk.1.attn_";
  for (std::size_t query = 0; query < 4; ++query) {
    const std::size_t key = query / 2;
    std::array<std::vector<double>, 2> halves{head_of(values_of(weights, from + "q_proj.weight"),
                                                      values_of(weights, from + "q_proj.bias"), x[0], query * 8, 8),
                                              head_of(values_of(weights, from + "k_proj.weight"),
                                                      values_of(weights, from + "k_proj.bias"), x[1], key * 8, 8)};
    std::array<std::vector<double>, 2> neighbours{
        head_of(numbers_of(file.tensors.at(to + "q.weight")), numbers_of(file.tensors.at(to + "q.bias")), x[0],
                query * 8, 8),
        head_of(numbers_of(file.tensors.at(to + "k.weight")), numbers_of(file.tensors.at(to + "k.bias")), x[1], key * 8,
                8)};
    EXPECT_EQ(dot(halves[0], halves[1]), dot(neighbours[0], neighbours[1]));
    const std::array<double, 2> positions{11, 5};
    for (std::size_t i = 0; i < kHalf; ++i) {
      for (std::size_t side = 0; side < 2; ++side) {
        const double angle = positions[side] * std::pow(10000.0, -static_cast<double>(i) / kHalf);
        turn(halves[side], i, i + kHalf, angle);
        turn(neighbours[side], 2 * i, 2 * i + 1, angle);
      }
    }
    const double wanted = dot(halves[0], halves[1]);
    EXPECT_NEAR(dot(neighbours[0], neighbours[1]), wanted, 1e-12 * std::abs(wanted)) << query;
  }
  expect_copy(file, to + "v.bias", {16}, weights, from + "v_proj.bias");
  expect_copy(file, to + "v.weight", {6, 16}, weights, from + "v_proj.weight");
}

/// llama.cpp turns the pairs (i, i + H/2) of qwen2, so nothing moves.
TEST(GgufModel, BiasesAreQwen2) {
  TransformerConfig config = small_config();
  config.d_model = 32;
  config.qkv_biases = true;
  const Weights weights = weights_of(config);
  const GgufReader file = exported(config, weights);
  EXPECT_EQ(file.values["general.architecture"], "qwen2");
  EXPECT_EQ(file.values["qwen2.attention.head_count"], 4);
  for (const std::string which : {"q", "k", "v"}) {
    const std::uint64_t rows = which == "q" ? 32 : 16;
    const std::string from = fmt::format("model.layers.0.self_attn.{}_proj.", which);
    expect_copy(file, fmt::format("blk.0.attn_{}.weight", which), {32, rows}, weights, from + "weight");
    expect_copy(file, fmt::format("blk.0.attn_{}.bias", which), {rows}, weights, from + "bias");
  }
  // llama.cpp knows no scaling of qwen2.
  config.rope_scaling = kernels::RopeScaling{.factor = 8, .original_positions = 32};
  EXPECT_EQ(gguf_model(config, 1, GgufType::f32).architecture, "llama");
}

/// A long wavelength is divided by the factor, a short one is not, and between them it is interpolated: the text of
/// LLaMA 3.1's configuration, in wavelengths.
TEST(GgufModel, ScaledRotationsAreFactors) {
  TransformerConfig config = small_config();
  config.head_dim = 16;
  config.rope_scaling =
      kernels::RopeScaling{.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_positions = 200};
  const GgufReader file = exported(config, weights_of(config));
  const std::vector<double> factors = numbers_of(file.tensors.at("rope_freqs.weight"));
  ASSERT_EQ(file.tensors.at("rope_freqs.weight").dims, (Dims{8}));
  bool between = false;
  for (std::size_t i = 0; i < 8; ++i) {
    const double wavelength = 2 * std::acos(-1.0) * std::pow(10000.0, static_cast<double>(i) / 8);
    const double smooth = (200 / wavelength - 1) / 3;
    const double wanted = wavelength < 50 ? 1 : wavelength > 200 ? 8 : 1 / ((1 - smooth) / 8 + smooth);
    between = between || (wavelength >= 50 && wavelength <= 200);
    EXPECT_NEAR(factors[i], wanted, 1e-6 * wanted) << i;
  }
  EXPECT_TRUE(between);
}

TEST(GgufModel, ExpertsOfALayerAreOneTensor) {
  TransformerConfig config = small_config();
  config.experts = {.count = 3, .chosen = 2};
  const Weights weights = weights_of(config);
  const GgufReader file = exported(config, weights);
  EXPECT_EQ(file.values["general.architecture"], "llama");
  EXPECT_EQ(file.values["llama.expert_count"], 3);
  EXPECT_EQ(file.values["llama.expert_used_count"], 2);
  expect_copy(file, "blk.1.ffn_gate_inp.weight", {6, 3}, weights, "model.layers.1.block_sparse_moe.gate.weight");
  const std::array<std::tuple<std::string, std::string, Dims>, 3> all{
      {{"ffn_gate_exps", "w1", {6, 3, 3}}, {"ffn_down_exps", "w2", {3, 6, 3}}, {"ffn_up_exps", "w3", {6, 3, 3}}}};
  for (const auto& [theirs, ours, dims] : all) {
    std::vector<double> wanted;
    for (int expert = 0; expert < 3; ++expert) {
      const auto one =
          values_of(weights, fmt::format("model.layers.1.block_sparse_moe.experts.{}.{}.weight", expert, ours));
      wanted.insert(wanted.end(), one.begin(), one.end());
    }
    const ReadTensor& tensor = file.tensors.at(fmt::format("blk.1.{}.weight", theirs));
    EXPECT_EQ(tensor.dims, dims) << theirs;
    EXPECT_EQ(numbers_of(tensor), wanted) << theirs;
  }
}

/// Types of weights, and f32 for vectors and routers.
TEST(GgufModel, OnlyMatricesHaveTheTypeThatIsAsked) {
  TransformerConfig config = small_config();
  config.d_model = 32;
  config.d_ff = 64;
  config.qkv_biases = true;
  const std::array<std::tuple<GgufType, std::uint32_t, int>, 4> types{
      {{GgufType::f32, 0, 0}, {GgufType::f16, 1, 1}, {GgufType::q8_0, 8, 7}, {GgufType::bf16, 30, 32}}};
  Weights weights = weights_of(config);
  for (auto& [name, tensor] : weights) {
    for (double& value : tensor.values)
      value = static_cast<double>(static_cast<int>(value) % 129 - 64);  // f16 holds them
  }
  for (const auto& [type, number, file_type] : types) {
    const GgufReader file = exported(config, weights, type);
    EXPECT_EQ(file.values["general.file_type"], file_type);
    EXPECT_EQ(file.values.contains("general.quantization_version"), type == GgufType::q8_0);
    for (const auto& [name, tensor] : file.tensors)
      EXPECT_EQ(tensor.type, tensor.dims.size() == 1 ? 0 : number) << name;
    if (type == GgufType::q8_0) continue;
    EXPECT_EQ(numbers_of(file.tensors.at("blk.1.ffn_down.weight")),
              values_of(weights, "model.layers.1.mlp.down_proj.weight"));
  }
  config.qkv_biases = false;
  config.experts = {.count = 3, .chosen = 2};
  for (const GgufSource& source : gguf_model(config, 1, GgufType::bf16).sources) {
    const bool vector = source.tensor.shape.size() == 1;
    const bool router = source.tensor.name.ends_with("ffn_gate_inp.weight");
    EXPECT_EQ(source.tensor.type, vector || router ? GgufType::f32 : GgufType::bf16) << source.tensor.name;
  }
}

/// Tensors of more than a part of 4 MiB: 5 heads of 2 rows, 3 of them in the first part.
TEST(GgufModel, LargeTensorsAreWrittenInParts) {
  const TransformerConfig config{
      .vocab = 3, .d_model = 150000, .layers = 1, .heads = 5, .kv_heads = 5, .head_dim = 2, .d_ff = 1};
  const Weights weights = weights_of(config);
  const GgufReader file = exported(config, weights);
  // With one pair in a head the order of rows stays.
  expect_copy(file, "blk.0.attn_q.weight", {150000, 10}, weights, "model.layers.0.self_attn.q_proj.weight");
  expect_copy(file, "blk.0.attn_output.weight", {10, 150000}, weights, "model.layers.0.self_attn.o_proj.weight");
}

TEST(GgufModel, RefusesWhatLlamaCppCannotHave) {
  TransformerConfig config = small_config();
  EXPECT_EQ(usage_error_of([&] { gguf_model(config, 1, GgufType::q8_0); }),
            "--dtype q8_0: a row of model.embed_tokens.weight has 6 elements; q8_0 stores them in blocks of 32");
  config.mlp = MlpForm::geglu;
  EXPECT_NE(usage_error_of([&] { gguf_model(config, 1, GgufType::f32); }).find("gelu_pytorch_tanh"), std::string::npos);
}

TEST(GgufModel, AFileThatFailsIsNotThere) {
  const TransformerConfig config = small_config();
  Weights weights = weights_of(config);
  weights.back().second.values.back() = 65520;
  const TemporaryFolder folder;
  folder.write("model.safetensors", hand_made_file(weights));
  const WeightFiles files(folder.path());
  std::filesystem::create_directory(folder.path("out"));
  try {
    write_gguf(gguf_model(config, 1, GgufType::f16), files, folder.path("out/m.gguf"), [](Index) {});
    ADD_FAILURE() << "65520 is no f16";
  } catch (const ResultError& error) {
    EXPECT_EQ(error.what(),
              folder.path("model.safetensors") + ": tensor lm_head.weight holds numbers too large for f16");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("out")));
}

}  // namespace
}  // namespace shardline
