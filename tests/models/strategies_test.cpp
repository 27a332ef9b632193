#include "models/strategy/strategies.h"

#include <gtest/gtest.h>

#include "models/architecture/transformer.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

const AbstractMesh kLine = AbstractMesh::parse("Z=4");
const AbstractMesh kGrid = AbstractMesh::parse("X=2,Y=2");

std::string parsed(const std::string& text, const AbstractMesh& mesh) { return to_string(parse_strategy(text, mesh)); }

std::string refusal(const std::string& text, const AbstractMesh& mesh) {
  return usage_message([&] { parse_strategy(text, mesh); });
}

TEST(Strategies, ParseRolesOnAxes) {
  EXPECT_EQ(parsed("fsdp=X,tp=Y", kGrid), "fsdp=X,tp=Y");
  EXPECT_EQ(parsed("tp=Y,dp=X", kGrid), "tp=Y,dp=X");
  EXPECT_EQ(parsed("fsdp=X,fsdp=Y", kGrid), "fsdp=X,fsdp=Y");
  EXPECT_EQ(parsed("tp_g=Z", kLine), "tp_g=Z");
  EXPECT_EQ(parsed("dp=data", AbstractMesh::parse("data=2")), "dp=data");
}

TEST(Strategies, ParseShortForms) {
  EXPECT_EQ(parsed("fsdp+tp", kGrid), "fsdp=X,tp=Y");
  EXPECT_EQ(parsed("zero1+tp_seq", kGrid), "zero1=X,tp_seq=Y");
  EXPECT_EQ(parsed("dp+tp_g", kGrid), "dp=X,tp_g=Y");
  EXPECT_EQ(parsed("tp+dp", kGrid), "tp=Y,dp=X");
  EXPECT_EQ(parsed("tp", kLine), "tp=Z");
  EXPECT_EQ(parsed("dp", AbstractMesh::parse("Y=2")), "dp=Y");
}

TEST(Strategies, TheOnlyAxisIsFsdpUnlessToldOtherwise) {
  EXPECT_EQ(parsed("", kLine), "fsdp=Z");
  EXPECT_EQ(parsed("", AbstractMesh()), "");
  EXPECT_EQ(refusal("", kGrid), "mesh {X:2, Y:2} has several axes: give --strategy, as in fsdp=X,tp=Y");
}

TEST(Strategies, RefuseByName) {
  EXPECT_EQ(refusal("zero9=X,tp=Y", kGrid),
            "unknown role \"zero9\" in a strategy; roles are dp, zero1, zero2, fsdp, tp, tp_seq, tp_g, cp, cp_fsdp, "
            "cp_heads, ep, ep_fsdp, tp_ep, pp");
  EXPECT_EQ(refusal("fsdp+magic", kGrid),
            "unknown role \"magic\" in a strategy; roles are dp, zero1, zero2, fsdp, tp, tp_seq, tp_g, cp, cp_fsdp, "
            "cp_heads, ep, ep_fsdp, tp_ep, pp");
  EXPECT_EQ(
      refusal("fsdp=X,tp=Q", kGrid),
      "strategy \"fsdp=X,tp=Q\": role tp is on axis Q, which mesh {X:2, Y:2} does not have; tp=AXIS names another");
  EXPECT_EQ(refusal("fsdp=X,tp=X", kGrid), "strategy \"fsdp=X,tp=X\": axis X has two roles");
  EXPECT_EQ(refusal("dp+fsdp", kGrid), "strategy \"dp+fsdp\": axis X has two roles");
  EXPECT_EQ(refusal("fsdp", kGrid), "strategy \"fsdp\" gives axis Y of mesh {X:2, Y:2} no role");
  EXPECT_EQ(refusal("fsdp=X", kGrid), "strategy \"fsdp=X\" gives axis Y of mesh {X:2, Y:2} no role");
  EXPECT_EQ(refusal("fsdp=X,tp", kGrid), "strategy \"fsdp=X,tp\": \"tp\" is not ROLE=AXIS, as in fsdp=X,tp=Y");
  EXPECT_EQ(refusal("fsdp+tp", kLine),
            "strategy \"fsdp+tp\": role fsdp is on axis X, which mesh {Z:4} does not have; fsdp=AXIS names another");
}

/// The layouts of the arrays of a small training step under a strategy.
class Declared : public ::testing::Test {
 protected:
  std::string layout(const std::string& strategy, const std::string& name) const {
    const Declaration declaration = declare(program_, kGrid, parse_strategy(strategy, kGrid));
    const ArrayId id = program_.find(name);
    const auto found = declaration.layouts.find(id);
    if (found == declaration.layouts.end()) return "follows";
    return to_string(name, program_.array(id).dims, found->second);
  }

  void expect_layouts(const std::string& strategy, const std::vector<std::string>& expected) const {
    for (const std::string& text : expected) {
      EXPECT_EQ(layout(strategy, text.substr(0, text.find('['))), text) << strategy;
    }
  }

  const Program program_ = make_training_step({.vocab = 12,
                                               .d_model = 8,
                                               .layers = 1,
                                               .heads = 4,
                                               .kv_heads = 2,
                                               .head_dim = 4,
                                               .d_ff = 10,
                                               .qkv_biases = true},
                                              {4, 6}, {})
                               .model.program;
};

/// The other axis is plain data parallel. Tokens, stream and work are sharded B_Y, after the tested axis if
/// that shards B too.
TEST_F(Declared, DataParallel) {
  expect_layouts("dp=X,dp=Y", {"ids[B_XY, T]", "labels[B_XY, T]", "E[V, D]", "W_q1[D, K, G, H]", "W_gate1[D, F]",
                               "w_attn1[D]", "dW_gate1[D, F]", "m.W_gate1[D, F]", "x0[B_XY, T, D]", "x1[B_XY, T, D]",
                               "dx0[B_XY, T, D]", "loss[]", "norm.squares[]", "dloss[]", "step[]"});
}

TEST_F(Declared, Zero1ShardsGradientsAndState) {
  expect_layouts("zero1=X,dp=Y",
                 {"ids[B_XY, T]", "E[V, D]", "W_gate1[D, F]", "w_attn1[D]", "dW_gate1[D_X, F]", "dE[V, D_X]",
                  "dw_attn1[D]", "m.W_down1[F, D_X]", "v.E[V, D_X]", "m.w_attn1[D]", "x1[B_XY, T, D]"});
}

TEST_F(Declared, FsdpShardsParametersToo) {
  expect_layouts("fsdp=X,dp=Y", {"ids[B_XY, T]", "E[V, D_X]", "U[V, D_X]", "W_q1[D_X, K, G, H]", "W_o1[K, G, H, D_X]",
                                 "W_gate1[D_X, F]", "W_gate1'[D_X, F]", "w_attn1[D]", "dW_gate1[D_X, F]",
                                 "m.W_down1[F, D_X]", "dw_attn1[D]", "x1[B_XY, T, D]"});
}

TEST_F(Declared, TensorParallel) {
  expect_layouts("dp=X,tp=Y",
                 {"ids[B_X, T]", "E[V_Y, D]", "U[V_Y, D]", "W_q1[D, K_Y, G, H]", "W_k1[D, K_Y, H]",
                  "W_o1[K_Y, G, H, D]", "W_gate1[D, F_Y]", "W_down1[F_Y, D]", "w_attn1[D_Y]", "dw_attn1[D_Y]",
                  "m.w_attn1[D_Y]", "dW_q1[D, K_Y, G, H]", "m.W_gate1[D, F_Y]", "x1[B_X, T, D_Y]", "dx0[B_X, T, D_Y]"});
}

TEST_F(Declared, TensorParallelWithASplitSequence) {
  expect_layouts("dp=X,tp_seq=Y", {"ids[B_X, T]", "E[V_Y, D]", "W_k1[D, K_Y, H]", "w_attn1[D]", "dw_attn1[D]",
                                   "x1[B_X, T_Y, D]", "dx0[B_X, T_Y, D]", "W_gate1[D, F_Y]"});
}

TEST_F(Declared, TensorParallelOverTheQueriesOfAHead) {
  expect_layouts("dp=X,tp_g=Y", {"W_q1[D, K, G_Y, H]", "W_k1[D, K, H]", "W_v1[D, K, H]", "W_o1[K, G_Y, H, D]",
                                 "dW_k1[D, K, H]", "W_gate1[D, F_Y]", "E[V_Y, D]", "x1[B_X, T_Y, D]"});
}

/// Biases lie as the heads of their weights. They have no D, which fsdp and the ZeRO roles split.
TEST_F(Declared, BiasesLieAsTheirHeads) {
  expect_layouts("dp=X,tp=Y", {"b_q1[K_Y, G, H]", "b_k1[K_Y, H]", "db_v1[K_Y, H]", "m.b_q1[K_Y, G, H]"});
  expect_layouts("dp=X,tp_seq=Y", {"b_q1[K_Y, G, H]", "b_k1[K_Y, H]", "db_v1[K_Y, H]"});
  expect_layouts("dp=X,tp_g=Y", {"b_q1[K, G_Y, H]", "b_k1[K, H]", "db_q1[K, G_Y, H]", "v.b_v1[K, H]"});
  for (const char* strategy : {"fsdp=X,dp=Y", "zero1=X,zero2=Y"}) {
    expect_layouts(strategy, {"b_q1[K, G, H]", "b_v1[K, H]", "db_k1[K, H]", "m.b_k1[K, H]"});
  }
}

TEST_F(Declared, AxesOnOneDimComposeInMeshOrder) {
  expect_layouts("fsdp=Y,fsdp=X", {"E[V, D_XY]", "W_gate1[D_XY, F]", "x1[B_XY, T, D]", "m.W_down1[F, D_XY]"});
  expect_layouts("tp=Y,fsdp=X", {"W_gate1[D_X, F_Y]", "W_o1[K_Y, G, H, D_X]", "x1[B_X, T, D_Y]", "w_attn1[D_Y]"});
}

TEST_F(Declared, OtherArraysFollowFromTheOperations) {
  for (const char* name : {"y1", "q1", "o1", "s1", "logits", "dqb1", "dlogits", "loss.max"}) {
    EXPECT_EQ(layout("fsdp+tp", name), "follows");
  }
}

TEST_F(Declared, WorkAndPolicyAreTakenOver) {
  const Declaration declaration =
      declare(program_, kGrid, parse_strategy("fsdp+tp", kGrid), {Reuse::keep, Reuse::regather});
  EXPECT_EQ(declaration.work.at("X"), (std::vector<WorkIndex>{"B"}));
  EXPECT_EQ(declaration.work.at("Y"), (std::vector<WorkIndex>{"F", "K", "V", "D"}));
  EXPECT_EQ(declaration.policy.parameters, Reuse::keep);
  EXPECT_EQ(declaration.policy.activations, Reuse::regather);
}

}  // namespace
}  // namespace shardline
