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

/// Each matrix of the checkpoint of Mixtral 8x7B.
TEST(Accounting, CountsExpertsOnceEachAndThoseThatATokenPasses) {
  const TransformerConfig config = sizes_of_model("mixtral-8x7b");
  const Index expert = Index{3} * 4096 * 14336;             // w1, w2, w3
  const Index attention = 4096 * (2 * 4096 + 2 * 8 * 128);  // q, o; k, v of 8 heads
  const Index rest = attention + 8 * 4096 + 2 * 4096;       // router, two norms
  const Index outside = 2 * Index{32000} * 4096 + 4096;     // embedding, output projection, last norm
  EXPECT_EQ(parameter_count(config), 32 * (8 * expert + rest) + outside);
  EXPECT_EQ(parameter_count(config), 46702792704) << "as published: 46.7e9";
  EXPECT_EQ(active_parameter_count(config), 32 * (2 * expert + rest) + outside);
  EXPECT_EQ(active_parameter_count(config), 12879925248) << "as published: 12.9e9";
  const ParameterParts parts = parameter_parts(config);
  EXPECT_EQ(parts.feed_forward, 0) << "every token chooses";
  EXPECT_EQ(parts.experts, 32 * 8 * expert);
  EXPECT_EQ(parts.router, 32 * 8 * 4096);
  EXPECT_EQ(active_parameter_parts(config).router, parts.router) << "a token is compared with every expert";
  EXPECT_EQ(token_flops(config, 4096).products.value, 6.0 * 12879925248);
  EXPECT_EQ(training_flops(config, {2, 64}).value, 6.0 * 12879925248 * 128 + 12.0 * 32 * 2 * 64 * 64 * 4096);
}

/// Each matrix of the checkpoint of DeepSeek-V3, by the names that it has there.
TEST(Accounting, CountsLatentAttentionSharedExpertsAndDenseLayers) {
  const TransformerConfig config = sizes_of_model("deepseek-v3");
  const Index d = 7168;
  const Index q_a = d * 1536, q_b = 1536 * 128 * (128 + 64);
  const Index kv_a = d * (512 + 64), kv_b = 512 * 128 * (128 + 128);
  const Index o = 128 * 128 * d;
  const Index norms = 1536 + 512 + 2 * d;
  const Index layer = q_a + q_b + kv_a + kv_b + o + norms;
  const Index expert = 3 * d * 2048;
  const Index gate = 256 * d;
  const Index outside = 2 * Index{129280} * d + d;
  const Index all = 61 * layer + 3 * (3 * d * 18432) + 58 * (257 * expert + gate) + outside;
  EXPECT_EQ(parameter_count(config), all);
  EXPECT_EQ(parameter_count(config), 671026404352) << "as published: 671e9";
  EXPECT_EQ(active_parameter_count(config), all - 58 * (256 - 8) * expert);
  EXPECT_EQ(active_parameter_count(config), 37552282624) << "as published: 37e9";
  EXPECT_EQ(parameter_parts(config).feed_forward, 3 * (3 * d * 18432) + 58 * expert);
  EXPECT_EQ(kv_cache_per_token(config, Bytes(1)), Bytes(61 * (512 + 64)));
  // Scores need 128 + 64 elements of each head, sums of values 128; 2 FLOPs each, and twice that backwards.
  EXPECT_EQ(token_flops(config, 4096).attention.value, 3.0 * 2 * 61 * 4096 * 128 * (192 + 128));
  const Index results = 1536 + 128 * 192 + (512 + 64) + 128 * 256 + d;  // of q_a, q_b, kv_a, kv_b, o
  const Index dense = 2 * 18432 + d;
  const Index routed = 9 * (2 * 2048 + d) + 256;
  EXPECT_EQ(activation_bytes(config, 10, Remat::matmuls, Bytes(2)).value,
            20.0 * static_cast<double>(61 * results + 3 * dense + 58 * routed));
  EXPECT_EQ(counted_only(config), "latent attention, shared experts, layers without experts");
  EXPECT_EQ(counted_only(sizes_of_model("mixtral-8x7b")), "");
}

TEST(Accounting, WidthsOfAnAverageLayer) {
  const MeanWidths dense = mean_widths(sizes_of_model("llama3-70b"));
  EXPECT_EQ(dense.held, 28672);
  EXPECT_EQ(dense.passed, 28672);
  EXPECT_EQ(dense.routed, 0);
  const MeanWidths mixtral = mean_widths(sizes_of_model("mixtral-8x7b"));
  EXPECT_EQ(mixtral.held, 8 * 14336);
  EXPECT_EQ(mixtral.passed, 2 * 14336);
  EXPECT_EQ(mixtral.routed, 2);
  const MeanWidths deepseek = mean_widths(sizes_of_model("deepseek-v3"));
  EXPECT_DOUBLE_EQ(deepseek.held * 61, 3 * 18432.0 + 58 * 257 * 2048.0);
  EXPECT_DOUBLE_EQ(deepseek.passed * 61, 3 * 18432.0 + 58 * 9 * 2048.0);
  EXPECT_DOUBLE_EQ(deepseek.routed * 61, 58 * 8);
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
            experts + ": num_local_experts is 8; experts of llama are not implemented, only those of mixtral are");
  const std::string mixtral = folder.write("mixtral.json", R"({"model_type": "mixtral", "vocab_size": 32000,
      "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2})");
  EXPECT_EQ(parameter_count(sizes_of_model(mixtral)), parameter_count(sizes_of_model("mixtral-8x7b")));
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
