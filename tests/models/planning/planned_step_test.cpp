// Prices of whole training steps on meshes that do not exist. The oracle prices the program of all layers
// directly.

#include "models/planning/planned_step.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/architecture/accounting.h"
#include "models/architecture/known_models.h"
#include "program/partition/partition.h"
#include "program/plan/liveness.h"
#include "program/plan/schedule.h"
#include "program/plan/timeline.h"
#include "roofline/machine/catalogue.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

using roofline::Hardware;

Hardware v5p(const std::string& mesh) {
  return roofline::hardware_named("v5p", AbstractMesh::parse(mesh), DType::bf16);
}

TransformerConfig small(Index layers) {
  TransformerConfig config{1000, 512, layers, 8, 4, 64, 1536};
  return config;
}

/// The price of a program of all layers, with every token a sequence.
struct Direct {
  ProgramPrice price;
  Seconds scheduled;
  Bytes peak;
  Bytes weights;
};

Direct directly(const TransformerConfig& config, Index tokens, const std::string& mesh_text, const std::string& text,
                DType dtype) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  const TrainingStep step = make_training_step(config, {tokens, 1}, {}, {dtype, DType::f32});
  RankProgram program =
      partition(step.model.program, mesh, declare(step.model.program, mesh, parse_strategy(text, mesh)));
  const Hardware hardware = roofline::hardware_named("v5p", mesh, dtype);
  name_wires(program, hardware.bf16_wire);
  Direct direct;
  direct.price = price(program, hardware);
  const ProgramSchedule scheduled = schedule(program, hardware, {});
  direct.scheduled = scheduled_time(program, scheduled, direct.price.steps, hardware).total;
  direct.peak = Liveness(program, scheduled).peak(0);
  for (const ModelParameter& parameter : step.model.parameters) {
    const Index elements = element_count(local_shape(program, program.inputs.at(parameter.array), 0));
    direct.weights += Bytes(static_cast<double>(elements * size_of(dtype)));
  }
  return direct;
}

PlannedStep planned(const TransformerConfig& config, Index tokens, Index sequence, const std::string& mesh_text,
                    const std::string& strategy, DType dtype = DType::f32) {
  const StepPlanner planner({config, tokens, sequence, dtype, dtype});
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  return planner.price(mesh, parse_strategy(strategy, mesh), roofline::hardware_named("v5p", mesh, dtype));
}

/// Two layers plus the third layer's part give all layers: exact up to rounding where prices add, and to 1% in
/// the schedule.
TEST(PlannedStep, CountsFurtherLayersAsThird) {
  for (const Index layers : {1, 2, 3, 4, 9}) {
    for (const auto& [mesh, strategy] : {std::pair{"X=8", "fsdp=X"}, {"X=8,Y=2", "fsdp=X,tp=Y"}, {"X=4", "dp=X"}}) {
      const Direct direct = directly(small(layers), 4096, mesh, strategy, DType::f32);
      const PlannedStep step = planned(small(layers), 4096, 1, mesh, strategy);
      const std::string where = fmt::format("{} layers, {} on {}", layers, strategy, mesh);
      EXPECT_NEAR(step.math / direct.price.math, 1, 1e-6) << where;
      EXPECT_NEAR(step.comms / direct.price.busiest_link(), 1, 1e-6) << where;
      EXPECT_NEAR(step.flops / direct.price.flops, 1, 1e-3) << where;
      EXPECT_NEAR(step.upper / direct.price.sum, 1, 1e-3) << where;
      EXPECT_NEAR(step.scheduled / direct.scheduled, 1, 0.01) << where;
      EXPECT_NEAR(step.memory.weights / direct.weights, 1, 1e-9) << where;
      EXPECT_NEAR(step.memory.total() / direct.peak, 1, 0.01) << where;
      EXPECT_NEAR(step.lower / std::min(direct.price.busiest(), direct.scheduled), 1, 0.01) << where;
      EXPECT_GE(step.lower.value, std::min(step.math, step.scheduled).value * (1 - 1e-9)) << where;
      EXPECT_LE(step.scheduled.value, step.upper.value * (1 + 1e-9)) << where;
    }
  }
}

/// With a very large vocabulary, the time and memory of short programs have other limits than those of long
/// programs. There the schedule agrees to 5%.
TEST(PlannedStep, LongProgramsAreBoundByWhatBindsThem) {
  TransformerConfig config = small(12);
  config.vocab = 60000;
  config.mlp = MlpForm::gelu;
  for (const auto& [mesh, strategy] :
       {std::pair{"X=64", "fsdp=X"}, {"X=16,Y=4", "zero1=X,tp=Y"}, {"X=16,Y=4", "fsdp=X,tp=Y"}}) {
    for (const Index tokens : {1024, 16384}) {
      const Direct direct = directly(config, tokens, mesh, strategy, DType::f32);
      const PlannedStep step = planned(config, tokens, 1, mesh, strategy);
      const std::string where = fmt::format("{} tokens, {} on {}", tokens, strategy, mesh);
      EXPECT_NEAR(step.lower / std::min(direct.price.busiest(), direct.scheduled), 1, 0.05) << where;
      EXPECT_NEAR(step.scheduled / direct.scheduled, 1, 0.05) << where;
      EXPECT_NEAR(step.memory.total() / direct.peak, 1, 0.03) << where;
      EXPECT_EQ(step.limiter, direct.price.limiter) << where;
    }
  }
}

TEST(PlannedStep, RefusesPartsOfSequences) {
  EXPECT_EQ(usage_message([] { planned(small(2), 64, 24, "Y=2", "tp=Y"); }),
            "a batch of 64 tokens: sequences of 24 do not divide it");
}

/// In whole sequences, attention costs 4 H operations for each query head and each pair of a query and an
/// earlier key, and 10 H backward. Everything else stays the same.
TEST(PlannedStep, AttentionIsThatOfWholeSequences) {
  const TransformerConfig config = small(5);
  const double pairs_of_one = 2048.0 * 2049 / 2;
  const double sequences_of_a_rank = 16384.0 / 2048 / 8;
  const double expected = 14.0 * 64 * pairs_of_one * sequences_of_a_rank * 8 * 5;
  const double of_tokens = 14.0 * 64 * (16384.0 / 8) * 8 * 5;
  const PlannedStep whole = planned(config, 16384, 2048, "X=8", "fsdp=X");
  const PlannedStep tokens = planned(config, 16384, 1, "X=8", "fsdp=X");
  EXPECT_NEAR((whole.flops - tokens.flops).value, expected - of_tokens, 1e-6 * expected);
  EXPECT_GT(whole.attention, tokens.attention);
  EXPECT_NEAR((whole.math - tokens.math).value, (whole.attention - tokens.attention).value, 1e-12);
  EXPECT_EQ(whole.comms, tokens.comms);
}

/// The kinds together are all steps, in every count.
TEST(PlannedStep, KindsAddUpToTheStep) {
  for (const Index layers : {2, 7}) {
    const StepPlanner planner({small(layers), 4096, 64});
    const AbstractMesh mesh = AbstractMesh::parse("X=8,Y=2");
    const Strategy strategy = parse_strategy("fsdp=X,tp=Y", mesh);
    const Hardware hardware = v5p("X=8,Y=2");
    const PlannedStep step = planner.price(mesh, strategy, hardware);
    Seconds time;
    Flops flops;
    double gathers = 0;
    const std::vector<PlannedKind> kinds = planner.kinds(mesh, strategy, hardware);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      time += kinds[i].time;
      flops += kinds[i].flops;
      if (kinds[i].kind == "all_gather" && kinds[i].axis == "X") gathers = kinds[i].count;
      EXPECT_LE(kinds[i].time, kinds[std::max<std::size_t>(i, 1) - 1].time);
    }
    EXPECT_NEAR(time / step.upper, 1, 1e-9);
    EXPECT_NEAR(flops / step.flops, 1, 1e-9);
    // Seven matrices of each layer, forward and backward, plus embedding and output projection.
    EXPECT_NEAR(gathers, static_cast<double>(7 * 2 * layers), 4);
  }
}

/// A rank computes one step at a time, a link carries one collective at a time, and nothing ends after the
/// step.
TEST(PlannedStep, TimelineIsOneThingAtATime) {
  const StepPlanner planner({small(5), 4096, 64});
  const AbstractMesh mesh = AbstractMesh::parse("X=8,Y=2");
  const PlannedTimeline planned = planner.timeline(mesh, parse_strategy("fsdp=X,tp=Y", mesh), v5p("X=8,Y=2"));
  std::map<std::string, Seconds> free;
  std::set<int> shown;
  for (const ScheduledSpan& span : planned.time.spans) {
    const Step& step = planned.program.steps[static_cast<std::size_t>(span.step)];
    EXPECT_TRUE(shown.insert(span.step).second) << "a step is at work once";
    Seconds& until = free[communicates(step.kind) ? to_string(step.axes) : "cores"];
    EXPECT_GE(span.begin.value, until.value * (1 - 1e-12));
    EXPECT_LE(span.end.value, planned.time.total.value * (1 + 1e-12));
    until = span.end;
  }
  for (std::size_t i = 0; i < planned.program.steps.size(); ++i) {
    const bool travels_with_another = planned.program.steps[i].kind == StepKind::all_reduce;
    EXPECT_TRUE(travels_with_another || shown.count(static_cast<int>(i)) == 1) << i;
  }
}

TEST(PlannedStep, StateIsWhatTheStrategyLeavesOnARank) {
  // Parameters of one dim, the norms, stay whole, and are stored in f32.
  const auto norms = static_cast<double>(parameter_parts(small(6)).norms);
  const double weights = static_cast<double>(parameter_count(small(6)));
  const double shared = (weights - norms) / 8 + norms;
  const auto of = [](const std::string& mesh, const std::string& strategy) {
    const StepPlanner planner({small(6), 4096, 64});
    return planner.price(AbstractMesh::parse(mesh), parse_strategy(strategy, AbstractMesh::parse(mesh)), v5p(mesh))
        .memory;
  };
  EXPECT_NEAR(of("X=8", "fsdp=X").weights.value, 2 * shared + 2 * norms, 1);
  EXPECT_NEAR(of("X=8", "fsdp=X").optimizer.value, 8 * shared, 1);
  EXPECT_NEAR(of("X=8", "dp=X").weights.value, 2 * weights + 2 * norms, 1);
  EXPECT_NEAR(of("X=8", "dp=X").optimizer.value, 8 * weights, 1);
  EXPECT_NEAR(of("X=8", "zero1=X").optimizer.value, 8 * shared, 1);
}

/// Book section 6: products alone take 6 N B / (chips C).
TEST(PlannedStep, ProductsOfALargeModel) {
  const TransformerConfig config = sizes_of_model("llama3-70b");
  const PlannedStep step = planned(config, 4194304, 4096, "X=1024,Y=8", "fsdp=X,tp=Y", DType::bf16);
  const double products = 6 * static_cast<double>(parameter_count(config)) * 4194304 / (8192 * 4.59e14);
  EXPECT_GT(step.math.value, products);
  EXPECT_LT(step.math.value, 1.2 * products);
  EXPECT_LT(step.memory.total(), Bytes(96e9));
}

TEST(PlannedStep, ModelsWithoutAGateAreLess) {
  TransformerConfig ungated = small(4);
  ungated.mlp = MlpForm::gelu;
  const PlannedStep gated = planned(small(4), 4096, 64, "X=8", "fsdp=X");
  const PlannedStep other = planned(ungated, 4096, 64, "X=8", "fsdp=X");
  const double third = 6.0 * 4 * 512 * 1536 * (4096.0 / 8);  // one of three products per layer
  EXPECT_NEAR((gated.flops - other.flops).value / third, 1, 0.02);
}

}  // namespace
}  // namespace shardline
