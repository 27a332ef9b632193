#include "models/checkpoint/weight_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/architecture/transformer.h"
#include "runtime/base/result_error.h"
#include "tests/models/checkpoint/safetensors_writer.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

using Tensors = std::vector<std::pair<std::string, Tensor>>;

constexpr const char* kIndex = "model.safetensors.index.json";

Tensor filled(const Shape& shape, float value = 1) {
  Tensor tensor(DType::f32, shape);
  for (float& element : tensor.view<float>()) element = value;
  return tensor;
}

TransformerConfig small_config(bool tied) {
  return {.vocab = 6, .d_model = 4, .layers = 2, .heads = 2, .kv_heads = 1, .head_dim = 2, .d_ff = 3, .tied = tied};
}

/// The weights of `layers` layers under Hugging Face names.
Tensors llama_tensors(Index layers, bool tied) {
  Tensors tensors = {{"model.embed_tokens.weight", filled({6, 4})}, {"model.norm.weight", filled({4})}};
  if (!tied) tensors.emplace_back("lm_head.weight", filled({6, 4}));
  for (Index layer = 0; layer < layers; ++layer) {
    const std::string at = fmt::format("model.layers.{}.", layer);
    tensors.emplace_back(at + "input_layernorm.weight", filled({4}));
    tensors.emplace_back(at + "post_attention_layernorm.weight", filled({4}));
    tensors.emplace_back(at + "self_attn.q_proj.weight", filled({4, 4}));
    tensors.emplace_back(at + "self_attn.k_proj.weight", filled({2, 4}));
    tensors.emplace_back(at + "self_attn.v_proj.weight", filled({2, 4}));
    tensors.emplace_back(at + "self_attn.o_proj.weight", filled({4, 4}));
    tensors.emplace_back(at + "mlp.gate_proj.weight", filled({3, 4}));
    tensors.emplace_back(at + "mlp.up_proj.weight", filled({3, 4}));
    tensors.emplace_back(at + "mlp.down_proj.weight", filled({4, 3}));
  }
  return tensors;
}

Tensors with(Tensors tensors, const std::string& name, const Tensor& tensor) {
  tensors.emplace_back(name, tensor);
  return tensors;
}

Tensors without(const Tensors& tensors, const std::string& name) {
  Tensors left;
  for (const auto& each : tensors) {
    if (each.first != name) left.push_back(each);
  }
  return left;
}

/// Empty if the weights are those of the model; otherwise the message after the file's name.
std::string fault_of(const Tensors& tensors, const TransformerConfig& config) {
  const TemporaryFolder folder;
  const std::string path = folder.path("model.safetensors");
  write_safetensors(path, tensors);
  try {
    WeightFiles(folder.path()).require_tensors_of(config, parameters_of(make_inference(config, {1, 1})));
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind(path + ": ", 0), 0U) << message;
    return message.substr(path.size() + 2);
  }
  return "";
}

TEST(WeightFiles, HoldTheTensorsOfTheModel) {
  const TransformerConfig config = small_config(false);
  const TransformerConfig tied = small_config(true);
  const Tensors all = llama_tensors(2, false);
  const std::string rotary = "model.layers.1.self_attn.rotary_emb.inv_freq";
  EXPECT_EQ(fault_of(all, config), "");
  EXPECT_EQ(fault_of(llama_tensors(2, true), tied), "");
  EXPECT_EQ(fault_of(with(all, rotary, filled({1})), config), "");
  EXPECT_EQ(fault_of(all, tied), "");  // the projection is the embedding, bit for bit
}

TEST(WeightFiles, RefuseTensorsThatAreNotUsed) {
  const TransformerConfig config = small_config(false);
  const Tensors all = llama_tensors(2, false);
  const std::string start = "not the tensors of the configuration: ";
  EXPECT_EQ(fault_of(llama_tensors(3, false), config),
            start +
                "9 not used: model.layers.2.input_layernorm.weight (num_hidden_layers is 2), "
                "model.layers.2.mlp.down_proj.weight (num_hidden_layers is 2), "
                "model.layers.2.mlp.gate_proj.weight (num_hidden_layers is 2) and 6 more");
  EXPECT_EQ(fault_of(with(llama_tensors(2, true), "lm_head.weight", filled({6, 4}, 2)), small_config(true)),
            start + "1 not used: lm_head.weight (tie_word_embeddings is true, and it is not the embedding)");
  EXPECT_EQ(fault_of(with(all, "model.layers.0.self_attn.q_proj.bias", filled({4})), config),
            start +
                "1 not used: model.layers.0.self_attn.q_proj.bias (the model_type has no biases; those of qwen2 are "
                "implemented)");
  EXPECT_EQ(fault_of(with(all, "model.layers.0.self_attn.q_norm.weight", filled({2})), config),
            start + "1 not used: model.layers.0.self_attn.q_norm.weight");
  EXPECT_EQ(fault_of(without(all, "lm_head.weight"), config), start + "1 missing: lm_head.weight");
  EXPECT_EQ(fault_of({{"embed.weight", filled({6, 4})}}, config),
            start +
                "21 missing: lm_head.weight, model.embed_tokens.weight, model.layers.0.input_layernorm.weight and 18 "
                "more; 1 not used: embed.weight");
}

TEST(WeightFiles, HoldTheBiasesOfQwen2AndNoOthers) {
  TransformerConfig config = small_config(false);
  config.qkv_biases = true;
  const std::string start = "not the tensors of the configuration: ";
  EXPECT_EQ(fault_of(llama_tensors(2, false), config),
            start +
                "6 missing: model.layers.0.self_attn.k_proj.bias, model.layers.0.self_attn.q_proj.bias, "
                "model.layers.0.self_attn.v_proj.bias and 3 more");
  Tensors all = llama_tensors(2, false);
  for (const char* layer : {"0", "1"}) {
    for (const char* which : {"q", "k", "v"}) {
      const std::string name = fmt::format("model.layers.{}.self_attn.{}_proj.bias", layer, which);
      all.emplace_back(name, filled({which == std::string("q") ? 4 : 2}));
    }
  }
  EXPECT_EQ(fault_of(all, config), "");
  EXPECT_EQ(fault_of(with(all, "model.layers.1.self_attn.o_proj.bias", filled({4})), config),
            start + "1 not used: model.layers.1.self_attn.o_proj.bias (only q_proj, k_proj and v_proj have biases)");
}

TEST(WeightFiles, WeightsAreFloatingPointFiniteAndOfTheirShape) {
  const TemporaryFolder folder;
  const std::string path = folder.path("model.safetensors");
  Tensor late = filled({100, 100});
  late.view<float>()[9999] = -std::numeric_limits<float>::infinity();
  Tensor nan(DType::bf16, {2});
  for (BFloat16& value : nan.view<BFloat16>()) value = BFloat16(std::nanf(""));
  write_safetensors(path, {{"good", filled({2}, -std::numeric_limits<float>::max())},
                           {"late", late},
                           {"nan", nan},
                           {"ids", Tensor::zeros(DType::i32, {2})}});
  const WeightFiles files(folder.path());
  files.require_weight("good", {2});
  EXPECT_EQ(files.read_block("good", {2}, {{0, 2}}).shape(), Shape{2});
  EXPECT_EQ(usage_error_of([&] {
              files.require_weight("good", {1, 2});
            }),
            path + ": tensor good has shape [2], the configuration says [1, 2]");
  EXPECT_NE(usage_error_of([&] { files.require_weight("ids", {2}); }).find("tensor ids holds integers"),
            std::string::npos);
  const auto wrong = [&](const std::string& name, const Shape& shape, const std::vector<Range>& block) {
    try {
      files.read_block(name, shape, block);
    } catch (const ResultError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(wrong("late", {100, 100}, {{50, 100}, {99, 100}}), path + ": tensor late holds infinity");
  EXPECT_EQ(wrong("late", {100, 100}, {{0, 100}, {0, 99}}), "nothing");
  EXPECT_EQ(wrong("nan", {2}, {{0, 2}}), path + ": tensor nan holds NaN");
}

/// A folder with the files a and b of tensors x and y, and an index.
class Sharded {
 public:
  Sharded() {
    write_safetensors(folder.path("a.safetensors"), {{"x", filled({1}, 1)}}, {{"format", "pt"}});
    write_safetensors(folder.path("b.safetensors"), {{"y", filled({1}, 2)}, {"z", filled({1}, 3)}}, {{"k", "v"}});
  }

  /// The fault of an index with this weight_map.
  std::string fault(const std::string& weight_map) const {
    folder.write(kIndex, "{\"metadata\": {\"total_size\": 12}, \"weight_map\": " + weight_map + "}");
    return usage_error_of([&] { WeightFiles files(folder.path()); });
  }

  TemporaryFolder folder;
};

TEST(WeightFiles, LieInSeveralFiles) {
  const Sharded sharded;
  sharded.folder.write(kIndex, R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors", "z": "b.safetensors"}})");
  const WeightFiles files(sharded.folder.path());
  EXPECT_EQ(files.path(), sharded.folder.path(kIndex));
  EXPECT_EQ(files.names(), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(files.read_block("x", {1}, {{0, 1}}).view<float>()[0], 1);
  EXPECT_EQ(files.read_block("z", {1}, {{0, 1}}).view<float>()[0], 3);
  EXPECT_EQ(files.metadata("k"), "v");
  EXPECT_EQ(files.metadata("none"), "");
  // The one file has precedence over the index, as in Hugging Face.
  write_safetensors(sharded.folder.path("model.safetensors"), {{"w", filled({1})}});
  EXPECT_EQ(WeightFiles(sharded.folder.path()).names(), std::vector<std::string>{"w"});
}

TEST(WeightFiles, RefuseAnIndexThatIsNotTheFiles) {
  const Sharded sharded;
  const std::string all = R"("x": "a.safetensors", "y": "b.safetensors")";
  const std::string z = R"(, "z": "b.safetensors")";
  const std::string index = sharded.folder.path(kIndex) + ": ";
  const std::string b = sharded.folder.path("b.safetensors") + ": ";
  EXPECT_EQ(sharded.fault("{" + all + "}"), b + "tensor z: the index does not list it");
  EXPECT_EQ(sharded.fault("{" + all + R"(, "z": "c.safetensors"})"),
            index + "tensor z is in c.safetensors, which is not there");
  EXPECT_EQ(sharded.fault("{" + all + z + R"(, "w": "a.safetensors"})"),
            index + "tensor w is in a.safetensors, which does not hold it");
  EXPECT_EQ(sharded.fault(R"({"x": "b.safetensors", "y": "b.safetensors", "z": "b.safetensors"})"),
            index + "tensor x is in b.safetensors, which does not hold it");
  EXPECT_EQ(sharded.fault("{" + all + z + R"(, "x": "b.safetensors"})"), index + "the index has \"x\" twice");
  for (const char* name : {"\"../a.safetensors\"", "\"/etc/passwd\"", "\"..\"", "\"\"", "\"sub/a\"", "3", "null"}) {
    EXPECT_EQ(sharded.fault(fmt::format("{{\"x\": {}}}", name)),
              index + "tensor x: " + name + " is not the name of a file beside the index");
  }
  for (const char* map : {"{}", "[]", "3"}) {
    EXPECT_EQ(sharded.fault(map), index + "weight_map must be an object: files by the tensors that they hold");
  }
  sharded.folder.write(kIndex, "{");
  EXPECT_EQ(usage_error_of([&] { WeightFiles files(sharded.folder.path()); }).rfind(index + "the index is not JSON", 0),
            0U);
  // The same tensor in two files.
  write_safetensors(sharded.folder.path("a.safetensors"), {{"x", filled({1})}, {"y", filled({1})}});
  EXPECT_EQ(sharded.fault("{" + all + z + "}"),
            sharded.folder.path("a.safetensors") + ": tensor y: the index says that it is in b.safetensors");
  sharded.folder.write("a.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n");
  EXPECT_EQ(
      sharded.fault("{" + all + z + "}"),
      sharded.folder.path("a.safetensors") + ": is a Git LFS pointer, not the file itself; git lfs pull fetches it");
}

TEST(WeightFiles, SayWhenThereAreNone) {
  const TemporaryFolder folder;
  EXPECT_EQ(usage_error_of([&] { WeightFiles files(folder.path()); }),
            folder.path("model.safetensors") + ": no such file, nor is there a model.safetensors.index.json");
}

}  // namespace
}  // namespace shardline
