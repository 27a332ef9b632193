// What collective matmuls take in panels, by hand: what is read again for each panel, and the latency of each.

#include "program/plan/panel_times.h"

#include <gtest/gtest.h>

#include "program/plan/choose_fusions.h"
#include "program/product/product.h"

namespace shardline {
namespace {

constexpr double kMemory = 1e11;
constexpr double kMatmul = 1e13;
constexpr double kLink = 1e9;
constexpr double kLatency = 1e-6;  // of one message between two neighbours

/// Links that move beside the cores and by themselves.
roofline::Hardware chips() {
  roofline::Hardware hardware{"test", FlopsPerSecond(kMatmul), BytesPerSecond(kMemory), Seconds(0), {}};
  hardware.links["X"] = {.latency = Seconds(kLatency), .bandwidth = BytesPerSecond(kLink), .frees_cores = true};
  hardware.polled = false;
  return hardware;
}

/// Rows of A times a matrix, on two ranks, in f32.
RankProgram product_of(const std::string& text, Index rows) {
  const Product product =
      make_product(parse_product(text), {{"B", rows}, {"F", 8192}, {"D", 4096}}, AbstractMesh::parse("X=2"));
  return product.candidates(chips()).at(0).program;
}

constexpr const char* kAllReduced = "A[B, F_X] * W[F_X, D] -> C[B, D]";
constexpr const char* kScattered = "A[B, F_X] * W[F_X, D] -> C[B, D_X]";

bool fuses(const RankProgram& program) { return !choose_fusions(program, chips(), {}).products.empty(); }

/// The only pair of a product and a collective.
FusionGroup group_of(const RankProgram& program) { return fusion_of(program, 1, 0); }

TEST(PanelTimes, RowsThatAreCutReadTheMatrixForEachPanel) {
  const RankProgram program = product_of(kAllReduced, 16);
  ASSERT_EQ(program.steps.size(), 2U);
  ASSERT_EQ(program.steps[1].kind, StepKind::all_reduce);
  const std::vector<StepEstimate> estimates = estimate(program, chips());
  const double flops = 2.0 * 16 * 4096 * 4096;
  const PanelTimes times = panel_times(program, group_of(program), estimates, chips(), Flops(flops / 4));
  const double matrix = 4096.0 * 4096 * 4, rows = 16.0 * 4 * (4096 + 4096);
  EXPECT_NEAR(times.computing().value, (4 * matrix + rows) / kMemory, 1e-9);
  EXPECT_NEAR((times.moving - estimates[1].price.time).value, 3 * 2 * kLatency, 1e-9) << "there and back, 3 more times";
  EXPECT_NEAR(times.tail.value, std::min(times.moving, times.computing()).value / 4, 1e-9);
  EXPECT_EQ(times.total(false), times.moving + times.computing());
}

/// Columns of the matrix are read once, whatever the panels; what is small is read again.
TEST(PanelTimes, ColumnsThatAreCutReadTheMatrixOnce) {
  const RankProgram program = product_of(kScattered, 16);
  ASSERT_EQ(program.steps.size(), 2U);
  ASSERT_EQ(program.steps[1].kind, StepKind::reduce_scatter);
  const std::vector<StepEstimate> estimates = estimate(program, chips());
  const double flops = 2.0 * 16 * 4096 * 4096;
  const PanelTimes times = panel_times(program, group_of(program), estimates, chips(), Flops(flops / 4));
  const double matrix = 4096.0 * 4096 * 4, rows = 16.0 * 4 * 4096;
  EXPECT_NEAR(times.computing().value, (matrix + 4 * rows + rows) / kMemory, 1e-9);
  EXPECT_EQ(times.moving, estimates[1].price.time);
}

/// The price says so: of few rows only what cuts columns is fused.
TEST(PanelTimes, ThinProductsAreNotCutByRows) {
  constexpr Index kThin = 64, kThick = 512;
  ASSERT_GT(2.0 * kThin * 4096 * 4096, 2 * kMatmul * 5e-6) << "some panels";
  EXPECT_FALSE(fuses(product_of(kAllReduced, kThin)));
  EXPECT_TRUE(fuses(product_of(kAllReduced, kThick)));
  EXPECT_TRUE(fuses(product_of(kScattered, kThin)));
  EXPECT_FALSE(fuses(product_of(kScattered, 1))) << "a product of one panel hides nothing";
}

}  // namespace
}  // namespace shardline
