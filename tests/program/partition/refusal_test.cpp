#include <gtest/gtest.h>

#include <algorithm>

#include "program/ops/add.h"
#include "program/ops/cross_entropy.h"
#include "program/ops/einsum.h"
#include "program/ops/gelu.h"
#include "program/ops/rope.h"
#include "program/partition/check.h"
#include "runtime/base/check.h"
#include "runtime/layout/notation.h"

/// Every reason of a refusal by the checker, each in a program of one step without other faults.
namespace shardline {
namespace {

std::string verdict(const RankProgram& program) {
  try {
    check(program);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// The program of one step over {X:2, Y:2}. Everything it reads is an input, everything it makes an output.
RankProgram one_step(Program program, const Step& step, const std::vector<Version>& versions) {
  RankProgram ranks;
  ranks.mesh = AbstractMesh::parse("X=2,Y=2");
  ranks.program = std::move(program);
  ranks.versions = versions;
  ranks.steps = {step};
  for (const VersionId v : step.operands) ranks.inputs[ranks.version(v).array] = v;
  for (const VersionId v : step.results) ranks.finals[ranks.version(v).array] = v;
  return ranks;
}

/// The first phase of the only operation. `layouts` are those of operands and then results. `splits` has the
/// axes of each index.
std::string computing(const Program& program, const std::vector<std::string>& layouts,
                      const std::vector<Axes>& splits) {
  const Phase& phase = program.operations.at(0).phases.at(0);
  std::vector<ArrayId> arrays = phase.operands;
  arrays.insert(arrays.end(), phase.results.begin(), phase.results.end());
  Step step;
  step.operation = 0;
  step.phase = 0;
  step.splits = splits;
  std::vector<Version> versions;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto first = std::find(arrays.begin(), arrays.end(), arrays[i]) - arrays.begin();
    (i < phase.operands.size() ? step.operands : step.results).push_back(static_cast<VersionId>(first));
    versions.push_back({arrays[i], parse_array(layouts.at(i)).sharding, {}, true});
  }
  RankProgram ranks = one_step(program, step, versions);
  for (const Version& version : versions) ranks.declared[version.array] = version.sharding;
  ranks.program.outputs = phase.results;
  return verdict(ranks);
}

struct ConversionText {
  StepKind kind = StepKind::all_gather;
  Axes axes;
  int from_dim = -1;
  int to_dim = -1;
};

/// One conversion of A[I,J].
std::string converting(const ConversionText& what, const std::string& from, const std::string& to,
                       ReduceOp reduce = ReduceOp::sum) {
  Program program;
  program.sizes = {{"I", 4}, {"J", 8}};
  const ArrayId a = program.add_input("A", {"I", "J"}, Role::activation);
  program.array(a).reduce = reduce;
  Step step;
  step.kind = what.kind;
  step.axes = what.axes;
  step.from_dim = what.from_dim;
  step.to_dim = what.to_dim;
  step.operands = {0};
  step.results = {1};
  RankProgram ranks =
      one_step(program, step, {{a, parse_array(from).sharding, {}, true}, {a, parse_array(to).sharding, {}, false}});
  ranks.declared[a] = parse_array(from).sharding;
  return verdict(ranks);
}

class Refusal : public ::testing::Test {
 protected:
  Refusal() {
    sized_.sizes = {{"B", 2}, {"T", 4}, {"H", 4}, {"I", 4}, {"J", 8}, {"K", 4}, {"V", 6}};
    product_ = sized_;
    const ArrayId a = product_.add_input("A", {"I", "J"}, Role::activation);
    einsum(product_, "C", {a, product_.add_input("B", {"J", "K"}, Role::activation)}, {"I", "K"});
  }

  Program sized_;
  Program product_;  ///< C[I,K] = A[I,J] B[J,K]; indices I, J, K
};

TEST_F(Refusal, OneAxisDoesOneThing) {
  EXPECT_EQ(computing(product_, {"A[I_X, J]", "B[J, K_Y]", "C[I_X, K_Y]"}, {{"X"}, {}, {"Y"}}), "accepted");
  EXPECT_EQ(computing(product_, {"A[I_X, J]", "B[J, K_X]", "C[I_X, K_X]"}, {{"X"}, {}, {"X"}}),
            "axis X splits two indices: C[I_X, K_X] = A[I_X, J] *_J B[J, K_X]");
  EXPECT_EQ(computing(product_, {"A[I_X, J]", "B[J, K]{U_X}", "C[I_X, K]"}, {{"X"}, {}, {}}),
            "axis X splits I while an operand owes on it: C[I_X, K] = A[I_X, J] *_J B[J, K]{U_X}");
}

TEST_F(Refusal, DebtsAreNeitherLostNorInvented) {
  EXPECT_EQ(computing(product_, {"A[I, J_X]", "B[J_X, K]", "C[I, K]{U_X}"}, {{}, {"X"}, {}}), "accepted");
  EXPECT_EQ(computing(product_, {"A[I, J_X]", "B[J_X, K]", "C[I, K]"}, {{}, {"X"}, {}}),
            "the debt of C over X is lost: C[I, K] = A[I, J_X] *_J B[J_X, K]");
  EXPECT_EQ(computing(product_, {"A[I, J]{U_Y}", "B[J, K]", "C[I, K]"}, {{}, {}, {}}),
            "the debt of C over Y is lost: C[I, K] = A[I, J]{U_Y} *_J B[J, K]");
  EXPECT_EQ(computing(product_, {"A[I, J]", "B[J, K]", "C[I, K]{U_X}"}, {{}, {}, {}}),
            "the debt of C over X is invented: C[I, K]{U_X} = A[I, J] *_J B[J, K]");
}

TEST_F(Refusal, DebtsPassOnlyWhereTheOperationIsLinear) {
  const std::string reason = "what is unreduced over X meets an operation not linear in it, or a reduced operand: ";
  EXPECT_EQ(computing(product_, {"A[I, J]{U_X}", "B[J, K]{U_X}", "C[I, K]{U_X}"}, {{}, {}, {}}),
            reason + "C[I, K]{U_X} = A[I, J]{U_X} *_J B[J, K]{U_X}");
  EXPECT_EQ(computing(product_, {"A[I, J]{U_X}", "B[J, K]{U_Y}", "C[I, K]{U_XY}"}, {{}, {}, {}}), "accepted");

  Program sum = sized_;
  const ArrayId a = sum.add_input("a", {"I"}, Role::activation);
  add(sum, "y", {a, sum.add_input("b", {"I"}, Role::activation)});
  EXPECT_EQ(computing(sum, {"a[I]{U_X}", "b[I]{U_X}", "y[I]{U_X}"}, {{}}), "accepted");
  EXPECT_EQ(computing(sum, {"a[I]{U_X}", "b[I]", "y[I]{U_X}"}, {{}}), reason + "y[I]{U_X} = a[I]{U_X} + b[I]");

  Program bent = sized_;
  gelu(bent, "y", bent.add_input("x", {"I"}, Role::activation));
  EXPECT_EQ(computing(bent, {"x[I]{U_X}", "y[I]{U_X}"}, {{}}), reason + "y[I]{U_X} = gelu(x[I]{U_X})");

  Program square = sized_;
  const ArrayId x = square.add_input("x", {"I"}, Role::activation);
  einsum(square, "y", {x, x}, {"I"});
  EXPECT_EQ(computing(square, {"x[I]{U_X}", "x[I]{U_X}", "y[I]{U_X}"}, {{}}),
            reason + "y[I]{U_X} = x[I]{U_X} * x[I]{U_X}");
}

TEST_F(Refusal, OperandsLieAlike) {
  EXPECT_EQ(computing(product_, {"A[I, J_XY]", "B[J_YX, K]", "C[I, K]{U_XY}"}, {{}, {"X", "Y"}, {}}),
            "index J is split by XY but B is not laid so: C[I, K]{U_XY} = A[I, J_XY] *_J B[J_YX, K]");
  EXPECT_EQ(computing(product_, {"A[I, J]", "B[J, K]", "C[I_X, K]"}, {{}, {}, {}}),
            "index I is split by nothing but C is not laid so: C[I_X, K] = A[I, J] *_J B[J, K]");
  EXPECT_EQ(computing(product_, {"A[I, J]", "B[J, K]", "C[I, K]"}, {{}, {}}),
            "does not say what splits each index: C[I, K] = A[I, J] *_J B[J, K]");
}

TEST_F(Refusal, SomeIndicesStayWhole) {
  Program turned = sized_;
  const ArrayId x = turned.add_input("x", {"B", "T", "H"}, Role::activation);
  rope(turned, "y", x, turned.add_input("positions", {"T"}, Role::positions), 100);
  EXPECT_EQ(computing(turned, {"x[B, T_X, H]", "positions[T_X]", "y[B, T_X, H]"}, {{}, {"X"}, {}}), "accepted");
  EXPECT_EQ(computing(turned, {"x[B, T, H_X]", "positions[T]", "y[B, T, H_X]"}, {{}, {}, {"X"}}),
            "index H must be whole: y[B, T, H_X] = rope(x[B, T, H_X], positions[T])");
}

TEST_F(Refusal, MaximaAreOwedAsMaxima) {
  Program loss = sized_;
  const ArrayId logits = loss.add_input("logits", {"B", "T", "V"}, Role::activation);
  cross_entropy(loss, "loss", logits, loss.add_input("labels", {"B", "T"}, Role::tokens));
  EXPECT_EQ(computing(loss, {"logits[B, T, V_X]", "m[B, T]{Max_X}"}, {{}, {}, {"X"}}), "accepted");
  EXPECT_EQ(computing(loss, {"logits[B, T, V_X]", "m[B, T]{U_X}"}, {{}, {}, {"X"}}),
            "partial results combine in another way than the array says: loss.max[B, T]{U_X} = "
            "row_max(logits[B, T, V_X])");
}

TEST_F(Refusal, GathersTakeTheMinorAxis) {
  EXPECT_EQ(converting({StepKind::all_gather, {"Y"}, 0, -1}, "A[I_XY, J]", "A[I_X, J]"), "accepted");
  const std::string reason = "a gather takes the minor axes of the dim: ";
  EXPECT_EQ(converting({StepKind::all_gather, {"X"}, 0, -1}, "A[I_XY, J]", "A[I_Y, J]"),
            reason + "A[I_Y, J] = AllGather_X(A[I_XY, J])");
  EXPECT_EQ(converting({StepKind::all_gather, {"Y", "X"}, 0, -1}, "A[I_XY, J]", "A[I, J]"),
            reason + "A[I, J] = AllGather_YX(A[I_XY, J])");
  EXPECT_EQ(converting({StepKind::all_to_all, {"X"}, 0, 1}, "A[I_XY, J]", "A[I_Y, J_X]"),
            reason + "A[I_Y, J_X] = AllToAll_X(A[I_XY, J])");
  EXPECT_EQ(converting({StepKind::all_gather, {"X"}, 7, -1}, "A[I_X, J]", "A[I, J]"),
            "there is no dim 7: A[I, J] = AllGather_X(A[I_X, J])");
}

TEST_F(Refusal, ReductionsPayWhatIsOwed) {
  EXPECT_EQ(converting({StepKind::reduce_scatter, {"X"}, -1, 0}, "A[I_Y, J]{U_X}", "A[I_YX, J]"), "accepted");
  EXPECT_EQ(converting({StepKind::reduce_scatter, {"X"}, -1, 0}, "A[I_Y, J]{U_X}", "A[I_XY, J]"),
            "the result is not what the step makes: A[I_XY, J] = ReduceScatter_X(A[I_Y, J]{U_X})");
  EXPECT_EQ(converting({StepKind::all_reduce, {"X"}, -1, -1}, "A[I, J]{U_Y}", "A[I, J]{U_Y}"),
            "nothing is owed over X: A[I, J]{U_Y} = AllReduce_X(A[I, J]{U_Y})");
  EXPECT_EQ(converting({StepKind::reduce_scatter, {"X"}, -1, 0}, "A[I, J]{Max_X}", "A[I_X, J]", ReduceOp::max),
            "scatters maxima: A[I_X, J] = ReduceScatter_X(A[I, J]{Max_X})");
}

TEST_F(Refusal, FreeStepsUseFreeAxes) {
  EXPECT_EQ(converting({StepKind::owe, {"Y"}, -1, -1}, "A[I_X, J]", "A[I_X, J]{U_Y}"), "accepted");
  EXPECT_EQ(converting({StepKind::slice, {"X"}, -1, 1}, "A[I_X, J]", "A[I, J_X]"),
            "axis X is in use: A[I, J_X] = Slice_X(A[I_X, J])");
  EXPECT_EQ(converting({StepKind::owe, {"X"}, -1, -1}, "A[I_X, J]", "A[I, J]{U_X}"),
            "axis X is in use: A[I, J]{U_X} = Owe_X(A[I_X, J])");
  EXPECT_EQ(converting({StepKind::owe, {"X"}, -1, -1}, "A[I, J]", "A[I, J]{Max_X}", ReduceOp::max),
            "only sums can be owed: A[I, J]{Max_X} = Owe_X(A[I, J])");
}

TEST_F(Refusal, ReshardsNameEveryAxisThatMovesAndKeepDebts) {
  EXPECT_EQ(converting({StepKind::reshard, {"X", "Y"}, -1, -1}, "A[I_XY, J]", "A[I_YX, J]"), "accepted");
  EXPECT_EQ(converting({StepKind::reshard, {"X"}, -1, -1}, "A[I_XY, J]", "A[I_X, J]"),
            "axis Y moves but is not named: A[I_X, J] = Reshard_X(A[I_XY, J])");
  EXPECT_EQ(converting({StepKind::reshard, {"X"}, -1, -1}, "A[I_X, J]{U_Y}", "A[I, J_X]"),
            "the result is not what the step makes: A[I, J_X] = Reshard_X(A[I_X, J]{U_Y})");
  EXPECT_EQ(converting({StepKind::reshard, {}, -1, -1}, "A[I_X, J]", "A[I_X, J]"),
            "names no axis: A[I_X, J] = Reshard(A[I_X, J])");
}

TEST_F(Refusal, UndeclaredOutputsOweNothing) {
  RankProgram ranks;
  ranks.mesh = AbstractMesh::parse("X=2");
  ranks.program = sized_;
  const ArrayId a = ranks.program.add_input("A", {"I"}, Role::activation);
  ranks.program.outputs = {a};
  ranks.versions = {{a, parse_array("A[I]{U_X}").sharding, {}, true}};
  ranks.inputs[a] = 0;
  ranks.finals[a] = 0;
  EXPECT_EQ(verdict(ranks), "input still owes: A[I]{U_X}");
}

}  // namespace
}  // namespace shardline
