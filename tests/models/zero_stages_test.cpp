// Counts what dp, zero1, zero2 and fsdp send and hold, against formulas by hand. The model is an MLP of L layers whose
// matrices have D F elements each.

#include <gtest/gtest.h>

#include <map>

#include "models/architecture/mlp.h"
#include "models/strategy/layer_traffic.h"
#include "program/cut/write_out.h"
#include "program/ir/print.h"
#include "program/partition/check.h"
#include "program/plan/compiled.h"
#include "tests/program/programs.h"

namespace shardline {
namespace {

constexpr Index kMicroBatches = 4;
constexpr Index kD = 19;  // 2 ranks do not divide it
constexpr Index kF = 23;
constexpr Index kLayers = 6;
constexpr double kWeights = 2 * kLayers * kD * kF;
constexpr Index kLarge = 10;  ///< elements: every matrix has more, every other reduced array less

constexpr TrainingTypes kF64{.model = DType::f64, .moments = DType::f64};
constexpr TrainingTypes kBf16{.model = DType::bf16, .moments = DType::f32, .weights = DType::f32};

/// The program of a whole step, written out.
RankProgram written(const std::string& strategy, Index micro_batches, const TrainingTypes& types = kF64) {
  const TrainingStep step = make_training_step(MlpConfig{.d_model = kD, .d_ff = kF, .layers = kLayers}, {8, 1}, AdamW{},
                                               types, {.micro_batches = micro_batches});
  const RankProgram micro = partitioned(step.model.program, "X=2", strategy, kRegather);
  check(micro);
  return write_out(micro, micro_batches).program;
}

/// The elements of all matrices that collectives of this kind read or make whole, and how many of them there are.
struct Counted {
  double elements = 0;
  int steps = 0;
};

Counted counted(const RankProgram& program, StepKind kind) {
  Counted sum;
  for (const Step& step : program.steps) {
    if (step.kind != kind) continue;
    const VersionId whole = kind == StepKind::all_gather ? step.results[0] : step.operands[0];
    const Index elements = element_count(local_shape(program, whole, 0));
    if (elements < kLarge) continue;
    sum.elements += static_cast<double>(elements);
    ++sum.steps;
  }
  return sum;
}

/// Every rank sends half of an array that two ranks gather or scatter, and both halves in an all_reduce.
double sent(const RankProgram& program) {
  return (counted(program, StepKind::all_gather).elements + counted(program, StepKind::reduce_scatter).elements) / 2 +
         counted(program, StepKind::all_reduce).elements;
}

void expect_sends(const std::string& strategy, Index micro_batches, double scattered, double gathered, double reduced,
                  const TrainingTypes& types = kF64) {
  SCOPED_TRACE(strategy + " of " + std::to_string(micro_batches));
  const RankProgram program = written(strategy, micro_batches, types);
  EXPECT_EQ(counted(program, StepKind::reduce_scatter).elements, scattered * kWeights);
  EXPECT_EQ(counted(program, StepKind::all_gather).elements, gathered * kWeights);
  EXPECT_EQ(counted(program, StepKind::all_reduce).elements, reduced * kWeights);
  EXPECT_EQ(sent(program), (scattered / 2 + gathered / 2 + reduced) * kWeights);
}

/// dp reduces the sums once. zero1 scatters them once and gathers the new weights once. zero2 scatters each part.
/// fsdp does too, and gathers weights in the forward and in the backward pass, but no new weights.
TEST(ZeroStages, ElementsOnTheWire) {
  const double m = kMicroBatches;
  expect_sends("dp", 1, 0, 0, 1);
  expect_sends("dp", kMicroBatches, 0, 0, 1);
  expect_sends("zero1", 1, 1, 1, 0);
  expect_sends("zero1", kMicroBatches, 1, 1, 0);
  expect_sends("zero2", 1, 1, 1, 0);
  expect_sends("zero2", kMicroBatches, m, 1, 0);
  expect_sends("fsdp", 1, 1, 2, 0);
  expect_sends("fsdp", kMicroBatches, m, 2 * m, 0);
}

/// Weights that a step casts to bf16 move as often. zero1 gathers their copies before the first product, and no new
/// weights.
TEST(ZeroStages, ElementsOnTheWireInBf16) {
  for (const Index micro_batches : {Index{1}, kMicroBatches}) {
    const double parts = static_cast<double>(micro_batches);
    expect_sends("dp", micro_batches, 0, 0, 1, kBf16);
    expect_sends("zero1", micro_batches, 1, 1, 0, kBf16);
    expect_sends("zero2", micro_batches, parts, 1, 0, kBf16);
    expect_sends("fsdp", micro_batches, parts, 2 * parts, 0, kBf16);
  }
}

/// Within an axis of tp the matrices are halves, and the counts are those of the halves.
TEST(ZeroStages, ElementsOnTheWireBesideTensorParallelism) {
  for (const auto& [strategy, scatters] : {std::pair{"zero1=X,tp=Y", 1}, {"zero2=X,tp=Y", int{kMicroBatches}}}) {
    const TrainingStep step = make_training_step(MlpConfig{.d_model = kD, .d_ff = kF, .layers = kLayers}, {8, 1},
                                                 AdamW{}, {}, {.micro_batches = kMicroBatches});
    const RankProgram program =
        write_out(partitioned(step.model.program, "X=2,Y=2", strategy, kRegather), kMicroBatches).program;
    double scattered = 0;
    for (const Step& each : program.steps) {
      if (each.kind != StepKind::reduce_scatter || each.axes != Axes{"X"}) continue;
      scattered += static_cast<double>(element_count(local_shape(program, each.operands[0], 0)));
    }
    EXPECT_EQ(scattered, static_cast<double>(scatters * 2 * kLayers * kD * 12)) << strategy;  // 12 of the 23 of F
  }
}

TEST(ZeroStages, OfOneMicroBatchZero1AndZero2AreOneProgram) {
  EXPECT_EQ(lines(written("zero1", 1)), lines(written("zero2", 1)));
  EXPECT_NE(lines(written("zero1", 2)), lines(written("zero2", 2)));
  for (const char* strategies : {"zero1=X,tp_seq=Y zero2=X,tp_seq=Y", "zero1=X,zero1=Y zero2=X,zero1=Y"}) {
    const std::string both(strategies);
    const Program program = small_training_step(false, true).model.program;
    EXPECT_EQ(lines(partitioned(program, "X=2,Y=3", both.substr(0, both.find(' ')))),
              lines(partitioned(program, "X=2,Y=3", both.substr(both.find(' ') + 1))));
  }
}

/// The sums of zero1 stay owed over X, those of zero2 and fsdp lie split. No scatter of zero1 is before the last
/// micro-batch.
TEST(ZeroStages, WhereTheSumsLie) {
  for (const auto& [strategy, text] : {std::pair{"dp", "sum.dW_in1[D, F]{U_X}"},
                                       {"zero1", "sum.dW_in1[D, F]{U_X}"},
                                       {"zero2", "sum.dW_in1[D_X, F]"},
                                       {"fsdp", "sum.dW_in1[D_X, F]"}}) {
    const TrainingStep step = make_training_step(MlpConfig{.d_model = kD, .d_ff = kF, .layers = kLayers}, {8, 1},
                                                 AdamW{}, {}, {.micro_batches = kMicroBatches});
    const Program& p = step.model.program;
    const AbstractMesh mesh = AbstractMesh::parse("X=2");
    const ArrayId sum = p.find("sum.dW_in1");
    EXPECT_EQ(
        to_string("sum.dW_in1", p.array(sum).dims, declare(p, mesh, parse_strategy(strategy, mesh)).layouts.at(sum)),
        text);
  }
  for (const Step& step : written("zero1", kMicroBatches).steps) {
    if (step.kind != StepKind::reduce_scatter) continue;
    EXPECT_TRUE(step.region.pass == Pass::update || step.region.micro_batch == kMicroBatches - 1);
  }
}

/// The most that rank 0 holds in the passes before the update, and in the whole step, in elements. Every step is done
/// alone, so nothing is gathered early.
struct Peak {
  double before_update = 0;
  double step = 0;
};

Peak peak(const std::string& strategy) {
  const auto compiled = compile(written(strategy, kMicroBatches), CompileOptions{});
  const Liveness& live = compiled->liveness();
  return {live.peaks(0).at(Pass::backward).value / sizeof(double), live.peak(0).value / sizeof(double)};
}

/// In the last micro-batch a rank holds weights, two moments and sums: whole, or of D the 10 of 19 that the first of
/// two ranks has. Beside them stand a few matrices at a time: the part of a gradient, what is gathered, what is
/// scattered.
TEST(ZeroStages, Memory) {
  constexpr double kPart = 10.0 / 19;
  constexpr double kFew = 4 * kD * kF;  // there are 12
  const std::map<std::string, double> held = {
      {"dp", 1 + 2 + 1}, {"zero1", 1 + 2 * kPart + 1}, {"zero2", 1 + 2 * kPart + kPart}, {"fsdp", 4 * kPart}};
  for (const auto& [strategy, share] : held) {
    EXPECT_GE(peak(strategy).before_update, share * kWeights) << strategy;
    EXPECT_LE(peak(strategy).before_update, share * kWeights + kFew) << strategy;
  }
  EXPECT_GT(peak("dp").step, peak("zero1").step);
  EXPECT_GT(peak("zero1").step, peak("zero2").step);
  EXPECT_GT(peak("zero2").step, peak("fsdp").step);
}

}  // namespace
}  // namespace shardline
