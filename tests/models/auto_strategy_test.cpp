#include "models/strategy/auto_strategy.h"

#include <gtest/gtest.h>

#include "program/partition/check.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"

namespace shardline {
namespace {

/// The cheapest comes first, each costs at most its price by the table, and the checker accepts every program.
TEST(AutoStrategy, IsNeverDearerThanANamedStrategy) {
  const TrainingStep step =
      make_training_step(small_config(false), small_batch(false), {}, {.model = DType::f64, .moments = DType::f64});
  const Program& program = step.model.program;
  for (const char* mesh_text : {"X=3", "X=2,Y=2"}) {
    const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
    const roofline::Hardware hardware = roofline::hardware_named("cpu", mesh, DType::f64);
    const std::vector<PricedStrategy> priced = price_strategies(program, mesh, {}, hardware);
    const std::size_t roles = training_roles().size() - 5;  // none of stages or experts; zero2 is zero1 here
    const std::size_t ways = mesh.axes().size() == 1 ? roles : roles * (roles + 1) / 2;  // X and Y are alike
    EXPECT_EQ(priced.size(), ways) << mesh_text;
    for (std::size_t i = 0; i < priced.size(); ++i) {
      EXPECT_FALSE(i > 0 && cheaper(priced[i].price, priced[i - 1].price));
      const Declaration declaration = declare(program, mesh, priced[i].strategy);
      EXPECT_FALSE(cheaper(price(partition(program, mesh, declaration), hardware), priced[i].price));
      if (i % 4 != 0) continue;
      EXPECT_NO_THROW(check(partition_by_price(program, mesh, declaration, hardware)))
          << to_string(priced[i].strategy) << " on " << mesh_text;
    }
    EXPECT_EQ(cheapest_that_fits(priced, Bytes(1e15)).strategy, priced[0].strategy);
    EXPECT_THROW(cheapest_that_fits(priced, Bytes(1)), UsageError);
  }
}

/// A gather of whole layers ahead takes memory that a step in order does not take.
TEST(AutoStrategy, CountsTheMemoryOfTheScheduleThatWillRun) {
  const TrainingStep step = small_training_step(true, false, 3);
  const AbstractMesh mesh = AbstractMesh::parse("X=4");
  const roofline::Hardware hardware = roofline::hardware_named("cpu", mesh, DType::f32, {"X"});
  const auto peak_of_fsdp = [&](const ScheduleOptions& options) {
    for (const PricedStrategy& each : price_strategies(step.model.program, mesh, {}, hardware, options)) {
      if (to_string(each.strategy) == "fsdp=X") return each.peak;
    }
    ADD_FAILURE() << "fsdp was not priced";
    return Bytes(0);
  };
  EXPECT_LT(peak_of_fsdp({.overlap = false}), peak_of_fsdp({.distance = 100}));
}

}  // namespace
}  // namespace shardline
