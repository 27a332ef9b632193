#include "program/transform/accumulate.h"

#include <gtest/gtest.h>

#include "program/ops/einsum.h"
#include "program/ops/sum_squares.h"
#include "program/transform/differentiate.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"
#include "tests/program/simulator.h"

namespace shardline {
namespace {

/// y = x w on B sequences; its gradients have the forms of a step.
struct Small {
  Program program;
  ArrayId x = -1;
  ArrayId part = -1;  ///< the gradient of w from the upstream gradient g
};

Small small(Index sequences) {
  Small made;
  Program& p = made.program;
  p.sizes = {{"B", sequences}, {"D", 3}, {"F", 5}};
  p.dtype = DType::f64;
  made.x = p.add_input("x", {"B", "D"}, Role::activation);
  const ArrayId w = p.add_input("w", {"D", "F"}, Role::parameter);
  const ArrayId g = p.add_input("g", {"B", "F"}, Role::activation);
  const ArrayId y = einsum(p, "y", {made.x, w}, {"B", "F"});
  made.part = differentiate(p, {{y, g}}, {w}).at(w);
  return made;
}

TEST(Accumulate, AddsAPartWhereItIsMadeAndGivesTheWholeInTheUpdate) {
  Small made = small(4);
  Program& p = made.program;
  const ArrayId whole = accumulate(p, {made.part}).at(0);
  EXPECT_EQ(p.array(whole).name, "step.dw");
  EXPECT_EQ(p.array(whole).role, Role::gradient);
  EXPECT_EQ(p.array(whole).primal, p.find("w"));
  EXPECT_EQ(p.array(made.part).role, Role::activation);
  const ArrayId sum = p.find("sum.dw");
  EXPECT_EQ(p.array(sum).role, Role::sum);
  EXPECT_EQ(p.array(sum).primal, p.find("w"));
  EXPECT_EQ(p.inputs.back(), sum);
  ASSERT_EQ(p.updates.size(), 1U);
  EXPECT_EQ(p.updates[0].first, sum);
  const Operation& adds = p.operations[p.operations.size() - 2];
  EXPECT_EQ(adds.results, std::vector<ArrayId>{p.updates[0].second});
  EXPECT_EQ(adds.operands, (std::vector<ArrayId>{sum, made.part}));
  EXPECT_EQ(adds.region.pass, Pass::backward);
  EXPECT_EQ(p.operations.back().region.pass, Pass::update);
}

/// Run twice with the sum handed on, two halves of a batch give the gradient of the batch.
TEST(Accumulate, TwoHalvesGiveTheWholeBatch) {
  const Small batch = small(4);
  const Values inputs = random_inputs(batch.program, 1);
  const Tensor want = run_unsharded(batch.program, inputs).at(static_cast<std::size_t>(batch.part));
  Small half = small(2);
  const ArrayId whole = accumulate(half.program, {half.part}).at(0);
  const auto at = [](Values& values, ArrayId a) -> Tensor& { return values.at(static_cast<std::size_t>(a)); };
  Tensor sum = Tensor::zeros(DType::f64, {3, 5});
  Tensor last;
  for (const Index first : {0, 2}) {
    Values values = random_inputs(half.program, 1);
    for (const char* name : {"x", "w", "g"}) {
      const Tensor& all = inputs.at(static_cast<std::size_t>(batch.program.find(name)));
      at(values, half.program.find(name)) = name[0] == 'w' ? all.clone() : all.rows({first, first + 2}).clone();
    }
    at(values, half.program.find("sum.dw")) = sum;
    values = run_unsharded(half.program, std::move(values));
    sum = at(values, half.program.updates[0].second).clone();
    last = at(values, whole).clone();
  }
  for (Index i = 0; i < want.size(); ++i) EXPECT_NEAR(last.view<double>()[i], want.view<double>()[i], 1e-12);
}

/// The gradient of a tied embedding comes from the first and the last layer: a sum for each, added in the update.
TEST(Accumulate, ATiedEmbeddingHasTwoSums) {
  const TrainingStep untied = make_training_step(small_config(true), {4, 3}, {}, {}, {.micro_batches = 2});
  const TrainingStep tied = make_training_step(small_config(true, true), {4, 3}, {}, {}, {.micro_batches = 2});
  const auto sums = [](const Program& p) {
    return std::count_if(p.inputs.begin(), p.inputs.end(), [&](ArrayId a) { return p.array(a).role == Role::sum; });
  };
  const auto parameters = static_cast<std::ptrdiff_t>(tied.model.parameters.size());
  EXPECT_EQ(sums(tied.model.program), parameters + 1 + 1);  // and the loss
  EXPECT_EQ(sums(untied.model.program), static_cast<std::ptrdiff_t>(untied.model.parameters.size()) + 1);
  const Program& p = tied.model.program;
  EXPECT_EQ(p.array(tied.gradients[0]).name, "step.dE");
  const auto maker = std::find_if(p.operations.begin(), p.operations.end(), [&](const Operation& op) {
    return op.results == std::vector<ArrayId>{tied.gradients[0]};
  });
  ASSERT_NE(maker, p.operations.end());
  EXPECT_EQ(maker->operands.size(), 2U);
  EXPECT_EQ(maker->region.pass, Pass::update);
}

TEST(Accumulate, RefusesAPartThatNothingMakes) {
  Small made = small(2);
  EXPECT_THROW(accumulate(made.program, {made.x}), Error);
}

TEST(Accumulate, RefusesMicroBatchesThatDoNotDivideTheBatch) {
  EXPECT_THROW(make_training_step(small_config(true), {4, 3}, {}, {}, {.micro_batches = 3}), UsageError);
  EXPECT_THROW(make_training_step(small_config(true), {4, 3}, {}, {}, {.micro_batches = 0}), UsageError);
}

}  // namespace
}  // namespace shardline
