#include "program/transform/rematerialise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "program/ops/run_phase.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"
#include "tests/program/simulator.h"

namespace shardline {
namespace {

constexpr int kLayers = 2;

TrainingStep step_with(Remat remat, MlpForm mlp = MlpForm::swiglu) {
  TransformerConfig config = small_config(false, false, kLayers);
  config.mlp = mlp;
  return make_training_step(config, small_batch(false), {}, {.model = DType::f64, .moments = DType::f64},
                            {.remat = remat});
}

/// Arrays of the forward pass of layer 1 that the backward pass reads.
std::set<std::string> kept_of_layer_1(const Program& program) {
  std::set<ArrayId> made;
  for (const Operation& op : program.operations) {
    if (op.region == Region{Pass::forward, 1}) made.insert(op.results.begin(), op.results.end());
  }
  std::set<std::string> kept;
  for (const Operation& op : program.operations) {
    if (op.region.pass != Pass::backward) continue;
    for (const ArrayId operand : op.operands) {
      if (made.contains(operand)) kept.insert(program.array(operand).name);
    }
  }
  return kept;
}

/// Operations of the backward pass of layer 1 that make an array again: by the name of their first result.
std::vector<std::string> repeated_in_layer_1(const Program& program) {
  std::vector<std::string> repeated;
  for (const Operation& op : program.operations) {
    const std::string& name = program.array(op.results[0]).name;
    if (op.region == Region{Pass::backward, 1} && name.back() == '~') repeated.push_back(name);
  }
  return repeated;
}

using Names = std::set<std::string>;

/// Section 4.4.2 of the book: what stays of a layer. x1 is the input of the next layer, and x0 that of this one.
TEST(Rematerialise, KeepsWhatThePolicySays) {
  EXPECT_EQ(kept_of_layer_1(step_with(Remat::block).model.program), (Names{"n1.squares", "x1", "y1.squares"}));
  EXPECT_EQ(kept_of_layer_1(step_with(Remat::stream).model.program), (Names{"h1", "n1.squares", "x1", "y1.squares"}));
  EXPECT_EQ(kept_of_layer_1(step_with(Remat::matmuls).model.program),
            (Names{"g1", "h1", "k1", "n1.squares", "q1", "u1", "v1", "x1", "y1.squares"}));
  const Names all = kept_of_layer_1(step_with(Remat::none).model.program);
  for (const char* name : {"h1", "x1", "y1", "qr1", "kr1", "v1", "o1", "n1", "g1", "u1", "s1"}) {
    EXPECT_TRUE(all.contains(name)) << name;
  }
}

/// Every array is made again once, before its first reader.
TEST(Rematerialise, RepeatsEachOperationOnceBeforeItsReaders) {
  for (const Remat remat : {Remat::matmuls, Remat::stream, Remat::block}) {
    const Program program = step_with(remat).model.program;
    std::set<ArrayId> there(program.inputs.begin(), program.inputs.end());
    for (const Operation& op : program.operations) {
      for (const ArrayId operand : op.operands) EXPECT_TRUE(there.contains(operand)) << program.array(operand).name;
      for (const ArrayId result : op.results) EXPECT_TRUE(there.insert(result).second) << program.array(result).name;
    }
  }
}

TEST(Rematerialise, RepeatsWhatThePolicyNeeds) {
  using Repeated = std::vector<std::string>;
  const auto sorted = [](Repeated names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  EXPECT_EQ(repeated_in_layer_1(step_with(Remat::none).model.program), Repeated());
  EXPECT_EQ(sorted(repeated_in_layer_1(step_with(Remat::matmuls).model.program)),
            (Repeated{"kr1~", "n1~", "o1~", "qr1~", "s1~", "y1~"}));
  // Neither the product with W_o nor that with W_down: nothing reads their results.
  EXPECT_EQ(sorted(repeated_in_layer_1(step_with(Remat::stream).model.program)),
            (Repeated{"g1~", "k1~", "kr1~", "n1~", "o1~", "q1~", "qr1~", "s1~", "u1~", "v1~", "y1~"}));
  EXPECT_EQ(sorted(repeated_in_layer_1(step_with(Remat::block).model.program)),
            (Repeated{"a1~", "g1~", "h1~", "k1~", "kr1~", "n1~", "o1~", "q1~", "qr1~", "s1~", "u1~", "v1~", "y1~"}));
}

/// FLOPs of all matrix products of a pass.
double product_flops(const Program& program, Pass pass) {
  double sum = 0;
  for (const Operation& op : program.operations) {
    if (op.region.pass != pass || op.kind != "einsum") continue;
    double flops = 2;
    for (const Index extent : op.extents) flops *= static_cast<double>(extent);
    sum += flops;
  }
  return sum;
}

/// The exercise 4.6 of the book keeps the results of all products, and repeats no product. Section 4.4.2: with `block`
/// the backward pass repeats the forward pass; of its products only W_down's is left out, which nothing reads.
TEST(Rematerialise, CountsOfTheBook) {
  const auto backward = [](Remat remat) { return product_flops(step_with(remat).model.program, Pass::backward); };
  const TransformerConfig c = small_config(false, false, kLayers);
  const double tokens = 3 * 5;
  const auto d = static_cast<double>(c.d_model);
  const auto f = static_cast<double>(c.d_ff);
  const auto heads = static_cast<double>((2 * c.heads + 2 * c.kv_heads) * c.head_dim);  // q, o, k, v
  const double layer = 2 * tokens * (3 * d * f + d * heads);
  const double w_o = 2 * tokens * d * static_cast<double>(c.heads * c.head_dim);
  const double w_down = 2 * tokens * d * f;
  EXPECT_DOUBLE_EQ(backward(Remat::matmuls), backward(Remat::none));
  EXPECT_DOUBLE_EQ(backward(Remat::stream) - backward(Remat::none), kLayers * (layer - w_down - w_o));
  EXPECT_DOUBLE_EQ(backward(Remat::block) - backward(Remat::none), kLayers * (layer - w_down));
}

/// No value changes, not even in its last bit.
TEST(Rematerialise, GradientsHaveTheSameBits) {
  for (const MlpForm mlp : {MlpForm::swiglu, MlpForm::gelu, MlpForm::geglu}) {
    const TrainingStep plain = step_with(Remat::none, mlp);
    const Values want = run_unsharded(plain.model.program, random_inputs(plain.model.program, 7));
    for (const Remat remat : {Remat::matmuls, Remat::stream, Remat::block}) {
      const TrainingStep step = step_with(remat, mlp);
      const Values got = run_unsharded(step.model.program, random_inputs(step.model.program, 7));
      for (std::size_t i = 0; i < plain.gradients.size(); ++i) {
        const Tensor& a = want.at(static_cast<std::size_t>(plain.gradients[i]));
        const Tensor& b = got.at(static_cast<std::size_t>(step.gradients[i]));
        ASSERT_EQ(a.bytes(), b.bytes());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())), 0)
            << name_of(remat) << " " << plain.model.program.array(plain.gradients[i]).name;
      }
    }
  }
}

/// On every mesh the blocks are right, and what is computed again has the layout and the bits of the first time.
TEST(Rematerialise, IsRightOnEveryMesh) {
  for (const char* strategy : {"fsdp=X,tp=Y", "dp=X,tp_seq=Y", "zero1=X,tp_g=Y"}) {
    for (const Remat remat : {Remat::matmuls, Remat::stream, Remat::block}) {
      const Program program = step_with(remat).model.program;
      const Values reference = run_unsharded(program, random_inputs(program, 3));
      EXPECT_GT(simulate(partitioned(program, "X=2,Y=3", strategy), reference).blocks, 0) << strategy;
    }
  }
}

Index reductions(const RankProgram& program) {
  return std::count_if(program.steps.begin(), program.steps.end(), [](const Step& step) {
    return step.kind == StepKind::reduce_scatter || step.kind == StepKind::all_reduce;
  });
}

/// Under `stream` no reduction runs twice. Under `block` one of each layer does: that after
/// attention.
TEST(Rematerialise, StreamRepeatsNoReduction) {
  for (const char* strategy : {"fsdp=X,tp=Y", "dp=X,tp_seq=Y", "fsdp=X,tp_g=Y"}) {
    const auto count = [&](Remat remat) {
      return reductions(partitioned(step_with(remat).model.program, "X=2,Y=3", strategy));
    };
    EXPECT_EQ(count(Remat::stream), count(Remat::none)) << strategy;
    EXPECT_EQ(count(Remat::matmuls), count(Remat::none)) << strategy;
    EXPECT_EQ(count(Remat::block), count(Remat::none) + kLayers) << strategy;
  }
}

TEST(Rematerialise, NamesAreRefusedWithTheKnownOnes) {
  for (const Remat remat : kRemats) EXPECT_EQ(remat_named(std::string(name_of(remat))), remat);
  try {
    remat_named("all");
    FAIL() << "\"all\" is taken";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "unknown rematerialisation \"all\"; it is one of none, matmuls, stream, block");
  }
}

}  // namespace
}  // namespace shardline
