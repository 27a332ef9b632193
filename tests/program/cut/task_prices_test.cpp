#include "program/cut/task_prices.h"

#include <gtest/gtest.h>

#include "program/cut/spread.h"
#include "program/price/estimate.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"

namespace shardline {
namespace {

constexpr double kLatency = 5;
constexpr double kFast = 1e30;

/// A FLOP takes a second, and so does a byte of a message. All else takes no time.
roofline::Hardware slow_machine(const RankProgram& program, bool frees_cores) {
  roofline::Hardware hardware{
      .name = "slow", .matmul = FlopsPerSecond(1), .memory = BytesPerSecond(kFast), .overhead = Seconds(0)};
  for (const Operation& operation : program.program.operations) {
    for (const Phase& phase : operation.phases) {
      if (phase.kernel->form != KernelForm::product) {
        hardware.kernels[std::string(phase.kernel->name)] = FlopsPerSecond(kFast);
      }
    }
  }
  hardware.links["Z"] = {.latency = Seconds(kLatency), .bandwidth = BytesPerSecond(1), .frees_cores = frees_cores};
  return hardware;
}

std::vector<Seconds> prices_of(const RankProgram& micro, const roofline::Hardware& hardware) {
  std::vector<Seconds> prices;
  for (const StepEstimate& each : estimate(micro, hardware)) prices.push_back(each.price.time);
  return prices;
}

/// B = 4, D = 2, F = 3: a product has 2 * 4 * 2 * 3 = 48 FLOPs.
RankProgram mlp_of_three_layers() {
  const TrainingStep step = make_training_step(MlpConfig{.d_model = 2, .d_ff = 3, .layers = 3}, {4, 1}, PlainDescent{});
  return partitioned(step.model.program, "X=1", "dp=X");
}

/// A layer has two products forward, two for the gradients of inputs and two for those of weights.
TEST(TaskPrices, AddUpThePricesOfTheSteps) {
  constexpr double kProduct = 48;
  const RankProgram micro = mlp_of_three_layers();
  const Cut cut(micro, stage_layers({2, 1}, {0, 1}, 3));
  for (const bool frees_cores : {false, true}) {
    const TaskCosts costs =
        task_prices(cut, "Z", slow_machine(micro, frees_cores), prices_of(micro, slow_machine(micro, frees_cores)));
    const auto expect = [](const std::vector<Seconds>& times, double first, double second) {
      ASSERT_EQ(times.size(), 2U);
      EXPECT_NEAR(times[0].value, first, 1e-9);
      EXPECT_NEAR(times[1].value, second, 1e-9);
    };
    expect(costs.forward, 4 * kProduct, 2 * kProduct);
    expect(costs.inputs, 4 * kProduct, 2 * kProduct);
    expect(costs.weights, 4 * kProduct, 2 * kProduct);
    expect(costs.backward, 8 * kProduct, 4 * kProduct);
    EXPECT_EQ(costs.frees_cores, frees_cores);
    EXPECT_NEAR(costs.move.value, kLatency + 4 * 2 * 4, 1e-9) << "4 rows of 2 elements of 4 bytes";
  }
}

/// Under dp on two ranks each stage reduces its whole sums once.
TEST(TaskPrices, OfTheUpdateHoldReductionsOfSums) {
  const TrainingStep step = make_training_step(MlpConfig{.d_model = 2, .d_ff = 3, .layers = 3}, {8, 1}, PlainDescent{},
                                               {}, {.micro_batches = 2});
  const RankProgram micro = partitioned(step.model.program, "X=2", "dp=X");
  roofline::Hardware hardware = slow_machine(micro, true);
  hardware.links["X"] = {.latency = Seconds(0), .bandwidth = BytesPerSecond(1)};
  constexpr double kReductions = 4 * 24;  // the parts of the gradients of two layers: 2 * 3 elements of 4 bytes
  constexpr double kLoss = 4;             // its sum is reduced on both stages
  const auto move = [](double scalars) { return kLatency + 4 * scalars; };
  // The part of the loss and two squares come from stage 1. Four squares go there.
  const std::vector<UpdatePrice> prices =
      update_prices(Cut(micro, stage_layers({2, 1}, {0, 1}, 3)), "Z", hardware, prices_of(micro, hardware));
  ASSERT_EQ(prices.size(), 2U);
  EXPECT_NEAR(prices[0].work.value, kReductions + kLoss, 1e-9);
  EXPECT_NEAR(prices[1].work.value, kReductions / 2 + kLoss, 1e-9);
  for (const UpdatePrice& stage : prices) EXPECT_NEAR(stage.moves.value, move(1) + move(2) + move(4), 1e-9);
}

TEST(TaskPrices, NeedALink) {
  const RankProgram micro = mlp_of_three_layers();
  const std::vector<Seconds> prices = prices_of(micro, slow_machine(micro, true));
  EXPECT_THROW(task_prices(Cut(micro, stage_layers({2, 1}, {0, 1}, 3)), "Y", slow_machine(micro, true), prices), Error);
}

}  // namespace
}  // namespace shardline
