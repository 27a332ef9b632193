#include "models/architecture/accounting.h"
#include "models/architecture/transformer.h"

#include <gtest/gtest.h>

#include <set>

#include "models/architecture/known_models.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

/// The published sizes of well-known models.
TEST(Accounting, CountsTheParametersOfKnownModels) {
  TransformerConfig llama2_7b{32000, 4096, 32, 32, 32, 128, 11008};
  EXPECT_EQ(parameter_count(llama2_7b), 6738415616);
  EXPECT_EQ(parameter_count(sizes_of_model("llama3-8b")), 8030261248);
  TransformerConfig llama32_1b{128256, 2048, 16, 32, 8, 64, 8192};
  llama32_1b.tied = true;
  EXPECT_EQ(parameter_count(llama32_1b), 1235814400);
  EXPECT_EQ(parameter_count(sizes_of_model("llama2-13b")), 13015864320);
  EXPECT_EQ(parameter_count(sizes_of_model("llama3-70b")), 70553706496);
  EXPECT_EQ(parameter_count(sizes_of_model("llama3-405b")), 405853388800);
  EXPECT_EQ(parameter_count(sizes_of_model("qwen2.5-7b")), 7615616512);
  EXPECT_EQ(parameter_count(sizes_of_model("gemma-7b")), 8537680896);
  EXPECT_NEAR(static_cast<double>(parameter_count(sizes_of_model("gpt3"))), 174.6e9, 0.1e9);
}

TEST(Accounting, TellsPartsApart) {
  const ParameterParts parts = parameter_parts(sizes_of_model("llama3-70b"));
  EXPECT_EQ(parts.feed_forward, Index{3} * 8192 * 28672 * 80);
  EXPECT_EQ(parts.attention, Index{2} * 8192 * (64 + 8) * 128 * 80);
  EXPECT_EQ(parts.vocabulary, Index{2} * 8192 * 128256);
  EXPECT_EQ(parts.norms, Index{161} * 8192);
}

/// The counted parameters are the arrays of the program.
TEST(Accounting, CountsWhatTheProgramHolds) {
  for (const bool tied : {false, true}) {
    for (const MlpForm mlp : {MlpForm::swiglu, MlpForm::geglu, MlpForm::gelu}) {
      TransformerConfig config{11, 6, 3, 4, 2, 2, 10};
      config.tied = tied;
      config.mlp = mlp;
      config.qkv_biases = tied;
      const Model model = make_evaluation(config, {2, 3});
      Index elements = 0;
      for (const ModelParameter& parameter : model.parameters) {
        Index size = 1;
        for (const std::string& dim : model.program.array(parameter.array).dims) size *= model.program.sizes.at(dim);
        elements += size;
      }
      EXPECT_EQ(parameter_count(config), elements);
    }
  }
}

/// Six products of 2 B D F in each layer, by the program itself too.
TEST(Accounting, CountsWhatAnMlpHolds) {
  const MlpConfig config{.d_model = 4, .d_ff = 6, .layers = 3, .activation = MlpActivation::gelu};
  const Model model = make_evaluation(config, {5, 1});
  Index elements = 0;
  for (const ModelParameter& parameter : model.parameters) {
    elements += element_count(model.program.array(parameter.array).shape);
  }
  EXPECT_EQ(parameter_count(config), elements);
  const TrainingStep step = make_training_step(config, {5, 1}, PlainDescent{});
  const auto products = std::count_if(step.model.program.operations.begin(), step.model.program.operations.end(),
                                      [](const Operation& op) { return op.kind == "einsum"; });
  EXPECT_DOUBLE_EQ(training_flops(config, {5, 1}).value, static_cast<double>(products) * 2 * 5 * 4 * 6);
}

TEST(Accounting, CountsFlopsOfATokenWithAttentionApart) {
  const TransformerConfig config = sizes_of_model("llama3-70b");
  const TokenFlops flops = token_flops(config, 8192);
  EXPECT_NEAR(flops.products.value, 6 * 70.55e9, 1e9);
  EXPECT_DOUBLE_EQ(flops.attention.value, 12.0 * 80 * 8192 * 64 * 128);
  EXPECT_EQ(kv_cache_per_token(config, Bytes(1)), Bytes(163840));
}

/// Book section 4.4.2.
TEST(Accounting, ActivationsByPolicy) {
  TransformerConfig book4 = tiny_config();
  book4.d_model = 8192;
  book4.layers = 64;
  EXPECT_NEAR(activation_bytes(book4, 4e6, Remat::none, Bytes(2)).value, 83.9e12, 0.05e12);
  EXPECT_NEAR(activation_bytes(book4, 4e6, Remat::block, Bytes(2)).value, 4.19e12, 0.005e12);
}

/// The kept arrays of a layer are those of the program: what its forward pass makes and its backward pass reads. What
/// one phase of an operation hands to the next is a number for each token, and is not counted.
TEST(Accounting, ActivationsAreThoseOfTheProgram) {
  for (const MlpForm mlp : {MlpForm::swiglu, MlpForm::gelu}) {
    for (const Remat remat : {Remat::matmuls, Remat::stream, Remat::block}) {
      TransformerConfig config{11, 6, 3, 4, 2, 2, 10};
      config.mlp = mlp;
      const Program step = make_training_step(config, {2, 3}, PlainDescent{}, {}, {.remat = remat}).model.program;
      std::set<ArrayId> made;
      std::set<ArrayId> read;
      for (const Operation& op : step.operations) {
        if (op.region == Region{Pass::forward, 2}) made.insert(op.results.begin(), op.results.end());
        if (op.region.pass == Pass::backward) read.insert(op.operands.begin(), op.operands.end());
      }
      Index elements = 0;
      for (const ArrayId array : made) {
        const bool counted = read.contains(array) && step.array(array).dims.size() > 2;
        elements += counted ? element_count(step.array(array).shape) : 0;
      }
      EXPECT_EQ(activation_bytes(config, 6, remat, Bytes(4)).value, static_cast<double>(3 * 4 * elements))
          << name_of(remat);
    }
  }
}

TEST(KnownModels, AreFoundByNameOrFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(sizes_of_model("tiny"), tiny_config());
  // Keys that training refuses; they do not change the work.
  const std::string path = folder.write("config.json", R"({"model_type": "llama", "vocab_size": 10, "hidden_size": 12,
      "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20, "rope_scaling": {"factor": 8.0},
      "attention_bias": true, "hidden_act": "gelu"})");
  std::vector<std::string> remarks;
  const TransformerConfig read = sizes_of_model(path, &remarks);
  EXPECT_EQ(read, (TransformerConfig{10, 12, 2, 3, 3, 4, 20}));
  EXPECT_EQ(remarks, (std::vector{path + ": not counted: hidden_act, attention_bias, rope_scaling.factor"}));
  const std::string experts = folder.write("moe.json", R"({"model_type": "llama", "vocab_size": 10, "hidden_size": 12,
      "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20, "num_local_experts": 8})");
  EXPECT_EQ(usage_error_of([&] { sizes_of_model(experts); }),
            experts + ": num_local_experts is 8; experts are not implemented");
  const std::string bert = folder.write("bert.json", R"({"model_type": "bert", "vocab_size": 10, "hidden_size": 12,
      "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20})");
  EXPECT_NE(usage_error_of([&] { sizes_of_model(bert); }).find("model_type is \"bert\"; counted are llama"),
            std::string::npos);
}

TEST(KnownModels, RefusalsOfferTheNearestNames) {
  const std::string message = usage_error_of([] { sizes_of_model("llama3-7b"); });
  EXPECT_NE(message.find("nearest are llama3-8b, llama3-70b,"), std::string::npos) << message;
  EXPECT_NE(message.find("gpt3"), std::string::npos) << message;
}

}  // namespace
}  // namespace shardline
