#include "models/planning/plan_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/architecture/known_models.h"
#include "roofline/machine/torus.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

const roofline::Chip& chip(const std::string& name) { return *roofline::find_chip(name); }

Index product(const std::vector<Index>& factors) {
  Index all = 1;
  for (const Index factor : factors) all *= factor;
  return all;
}

TEST(TorusSides, MultiplyToTheRanksAndWrapWhereTheyCan) {
  EXPECT_EQ(torus_sides(chip("v5p"), 2048, 2), (std::vector<Index>{64, 32}));
  EXPECT_EQ(torus_sides(chip("v5p"), 8, 2), (std::vector<Index>{4, 2}));
  EXPECT_EQ(torus_sides(chip("v5p"), 7, 1), std::vector<Index>{7});
  EXPECT_EQ(torus_sides(chip("v5e"), 256, 2), (std::vector<Index>{16, 16}));
  EXPECT_EQ(torus_sides(chip("v5e"), 32, 2), (std::vector<Index>{16, 2})) << "one that wraps beats none";
  EXPECT_FALSE(torus_sides(chip("v5e"), 32, 1).has_value()) << "no axis of v5e is longer than 16";
  EXPECT_EQ(torus_sides(chip("v5e"), 1, 2), (std::vector<Index>{1, 1}));
}

TEST(PlanSearch, MeshesAreAllPowersOfTwoOverAllTorusAxes) {
  for (const auto& [name, axes, chips] : {std::tuple{"v5p", 3, Index{64}}, {"v5e", 2, Index{256}}}) {
    std::set<std::string> shapes;
    std::set<roofline::TorusLayout> layouts;
    for (const ChipMesh& each : meshes_of(chip(name), chips)) {
      EXPECT_EQ(each.mesh.ranks(), chips);
      std::size_t used = 0;
      EXPECT_TRUE(layouts.insert(each.layout).second) << "no mesh is there twice";
      for (const Axis& axis : each.mesh.axes()) {
        EXPECT_EQ(product(each.layout.at(axis)), each.mesh.size(axis));
        used += each.layout.at(axis).size();
      }
      EXPECT_LE(used, static_cast<std::size_t>(axes));
      shapes.insert(each.mesh.to_string());
    }
    EXPECT_EQ(shapes.size(), std::string(name) == "v5p" ? 7U : 3U);
  }
  EXPECT_EQ(meshes_of(chip("h100"), 8).size(), 4U);
  EXPECT_EQ(meshes_of(chip("v5p"), 1).size(), 1U);
  EXPECT_TRUE(meshes_of(chip("v5e"), 512).empty()) << "no axis of v5e is longer than 16";
}

TEST(PlanSearch, MeshesOfATorusTakeWholeAxes) {
  const std::vector<ChipMesh> meshes = meshes_of_torus({16, 20, 28});
  EXPECT_EQ(meshes.size(), 8U);
  for (const ChipMesh& each : meshes) EXPECT_EQ(each.mesh.ranks(), 8960);
  EXPECT_EQ(meshes_of_torus({4, 4}).size(), 3U) << "axes of one length are alike";
  EXPECT_EQ(meshes_of_torus({1, 4, 1}).size(), 2U) << "an axis of one chip is none";
  EXPECT_EQ(meshes_of_torus({1, 1, 1}).size(), 1U);
  const ChipMesh laid = laid_over_torus({16, 20, 28}, AbstractMesh::parse("X=448,Y=20"));
  EXPECT_EQ(laid.layout.at("X"), (std::vector<Index>{16, 28}));
  EXPECT_EQ(laid.layout.at("Y"), std::vector<Index>{20});
}

TEST(PlanSearch, RefusesWhatDoesNotLieOnTheTorus) {
  EXPECT_EQ(usage_message([] {
              laid_over_torus({16, 20, 28}, AbstractMesh::parse("X=2240,Y=4"));
            }),
            "mesh axis X has 2240 chips, which no whole axes of torus 16x20x28 make");
  EXPECT_EQ(usage_message([] {
              laid_over_torus({16, 20}, AbstractMesh::parse("X=16"));
            }),
            "mesh {X:16} has 16 chips, torus 16x20 has 320");
  EXPECT_EQ(usage_message([] {
              laid_over(chip("v5p"), AbstractMesh::parse("X=8,Y=4"), {{"X", 2}, {"Y", 2}});
            }),
            "the axes of mesh {X:8, Y:4} take 4 torus axes, v5p has 3");
  EXPECT_NE(usage_message([] { laid_over(chip("v5e"), AbstractMesh::parse("X=32,Y=4"), {}); }).find("at most 16"),
            std::string::npos);
  const ChipMesh usual = laid_over(chip("v5p"), AbstractMesh::parse("X=2048,Y=4"), {});
  EXPECT_EQ(usual.layout.at("X").size(), 2U);
  EXPECT_EQ(usual.layout.at("Y").size(), 1U);
}

TEST(PlanSearch, TriesRolesThatFitTheAxes) {
  EXPECT_EQ(strategies_on(chip_mesh(AbstractMesh::parse("X=4,Y=8"))).size(), 4U);
  EXPECT_EQ(strategies_on(chip_mesh(AbstractMesh::parse("X=1"))).size(), 1U);
  const AbstractMesh pods = AbstractMesh::parse("pods=2,X=4");
  for (const Strategy& each : strategies_on(chip_mesh(pods))) {
    EXPECT_EQ(each[0], std::make_pair(Axis(kPodAxis), AxisRole::parse("dp")));
    EXPECT_EQ(ranks_with(splits_batch, pods, each), 8);
  }
  EXPECT_EQ(ranks_with(splits_batch, AbstractMesh::parse("X=4,Y=8"),
                       parse_strategy("fsdp=X,tp=Y", AbstractMesh::parse("X=4,Y=8"))),
            4);
}

/// Only data parallelism runs between pods. Inside a pod nothing changes.
TEST(PlanSearch, JoinsPods) {
  const ChipMesh pod = laid_over(chip("v5p"), AbstractMesh::parse("X=8,Y=4"), {});
  const ChipMesh joined = joined_pods(pod, 3);
  EXPECT_EQ(joined.mesh.to_string(), "{pods:3, X:8, Y:4}");
  EXPECT_EQ(joined.layout, pod.layout);
  std::vector<std::string> texts;
  for (const Strategy& each : strategies_on(joined)) texts.push_back(to_string(each));
  EXPECT_EQ(texts, (std::vector<std::string>{"dp=pods,dp=X,tp=Y", "dp=pods,zero1=X,tp=Y", "dp=pods,zero2=X,tp=Y",
                                             "dp=pods,fsdp=X,tp=Y"}));
  EXPECT_EQ(to_string(strategies_on(pod, "tp=X,dp=Y").at(0)), "tp=X,dp=Y");
}

/// The roles of an axis count, not its name.
TEST(PlanSearch, TakesTheRolesThatTheAxesCarry) {
  ChipMesh mesh = chip_mesh(AbstractMesh::parse("X=4,Y=8"));
  mesh.roles["X"] = {AxisRole::parse("tp")};
  mesh.roles["Y"] = {AxisRole::parse("dp"), AxisRole::parse("fsdp")};
  const std::vector<Strategy> strategies = strategies_on(mesh);
  ASSERT_EQ(strategies.size(), 2U);
  EXPECT_EQ(to_string(strategies[1]), "tp=X,fsdp=Y");
  EXPECT_EQ(ranks_with(splits_batch, mesh.mesh, strategies[1]), 8);
}

roofline::Hardware v5p_under(const ChipMesh& each) {
  return roofline::hardware_of(chip("v5p"), each.mesh, each.layout, DType::bf16);
}

PlanSpace space_of(const StepPlanner& planner, const std::vector<ChipMesh>& meshes, Bytes capacity) {
  PlanSpace space{.meshes = meshes, .hardware_of = v5p_under};
  space.closed.config = planner.run().config;
  space.closed.tokens = static_cast<double>(planner.run().tokens);
  space.closed.chips = meshes.front().mesh.ranks();
  space.closed.rates = {chip("v5p").matmul, chip("v5p").link * 2};
  space.closed.capacity = capacity;
  return space;
}

/// The same winner in another way: prices every mesh and strategy alone, whole and under every policy, and takes the
/// fastest that fits. Where the memory is large, nothing is computed again.
TEST(PlanSearch, FindsTheFastestThatFits) {
  TransformerConfig config = sizes_of_model("llama3-8b");
  config.layers = 6;
  const StepPlanner planner({config, 32768, 2048});
  const std::vector<ChipMesh> meshes = meshes_of(chip("v5p"), 32);
  for (const Bytes capacity : {Bytes(96e9), Bytes(1e10), Bytes(0)}) {
    PlanSpace space = space_of(planner, meshes, capacity);
    space.micro_batches = 1;
    const std::vector<PlanCandidate> found = search_plans(planner, space);
    double least = 1e9;
    std::size_t tried = 0;
    for (const ChipMesh& mesh : meshes) {
      const ChipMesh each = with_context(mesh, 32768 / 2048);
      for (const Strategy& strategy : strategies_on(each)) {
        const std::string text = to_string(strategy);
        if (text.find("zero2") != std::string::npos) continue;  // of one micro-batch the same as zero1
        const bool by_heads = text.find("cp_heads") != std::string::npos;
        if (by_heads && ranks_with(splits_heads, each.mesh, strategy) > 8) continue;  // heads of keys
        ++tried;
        for (const Remat remat : kRemats) {
          const PlannedStep step = planner.price(each.mesh, strategy, v5p_under(each), {.remat = remat});
          EXPECT_GE(step.memory.others.value, step.memory.update.value);
          const bool fits = capacity.value == 0 || step.memory.total() <= capacity;
          if (fits) least = std::min(least, step.scheduled.value);
        }
      }
    }
    ASSERT_EQ(found.size(), tried);
    ASSERT_LT(least, 1e9);
    EXPECT_TRUE(found[0].fits());
    EXPECT_FLOAT_EQ(static_cast<float>(found[0].step.scheduled.value), static_cast<float>(least));
    EXPECT_TRUE(capacity.value != 96e9 || found[0].step.form.remat == Remat::none);
  }
  EXPECT_FALSE(search_plans(planner, space_of(planner, meshes, Bytes(1)))[0].fits());
}

/// What does not fit whole fits with more micro-batches: a sixteenth of the tokens holds about a sixteenth.
TEST(PlanSearch, CutsTheBatchWhereItDoesNotFit) {
  TransformerConfig config = sizes_of_model("llama3-8b");
  config.layers = 6;
  const StepPlanner planner({config, Index{1} << 20, 2048});
  const std::vector<ChipMesh> meshes{laid_over(chip("v5p"), AbstractMesh::parse("X=8"), {})};
  PlanSpace space = space_of(planner, meshes, Bytes(3e10));
  space.strategy = "fsdp=X";
  space.remat = Remat::none;
  const PlanCandidate made = search_plans(planner, space).at(0);
  EXPECT_TRUE(made.fits());
  EXPECT_GT(made.step.form.micro_batches, 1);
  space.micro_batches = made.step.form.micro_batches / 2;
  EXPECT_FALSE(search_plans(planner, space).at(0).fits()) << "the fewest that fit are taken";
}

/// Pricing only what the closed form finds fastest loses little: no pipeline of all that there are is much faster.
TEST(PlanSearch, TheClosedFormChoosesGoodPipelines) {
  TransformerConfig config = sizes_of_model("llama3-8b");
  config.layers = 16;
  const StepPlanner planner({config, Index{1} << 18, 2048});
  const std::vector<ChipMesh> meshes = staged_meshes_of(chip("v5p"), 32, 8);
  ASSERT_FALSE(meshes.empty());
  const std::vector<PlanCandidate> found = search_plans(planner, space_of(planner, meshes, Bytes(0)));
  double least = 1e9;
  for (const ChipMesh& mesh : meshes) {
    const Index stages = mesh.mesh.size("Z");
    for (const Index count : {stages, 2 * stages, 4 * stages}) {
      const ChipMesh each = with_context(mesh, (1 << 18) / 2048 / count);
      for (const Strategy& strategy : strategies_on(each)) {
        const PlannedForm form{.micro_batches = count};
        least = std::min(least, planner.price(each.mesh, strategy, v5p_under(each), form).scheduled.value);
      }
    }
  }
  EXPECT_GE(found[0].step.scheduled.value, least * (1 - 1e-9));
  EXPECT_LE(found[0].step.scheduled.value, least * 1.1);
}

TEST(PlanSearch, StagesLieOnATorusAxisOfTheirOwn) {
  const std::vector<ChipMesh> meshes = staged_meshes_of(chip("v5p"), 64, 8);
  ASSERT_FALSE(meshes.empty());
  for (const ChipMesh& each : meshes) {
    EXPECT_EQ(each.mesh.ranks(), 64);
    EXPECT_LE(each.mesh.size("Z"), 8);
    EXPECT_TRUE(each.mesh.axes_that_move().size() == 1 || each.layout.at("Z").size() == 1U);
    for (const Strategy& strategy : strategies_on(each)) EXPECT_EQ(stage_axis(strategy, each.mesh), "Z");
  }
  EXPECT_TRUE(staged_meshes_of(chip("v5p"), 1, 8).empty());
}

/// Recomputation never removes the memory of gradients and new weights: 8.03e9 weights on one chip take 12
/// bytes each.
TEST(PlanSearch, NothingFitsWithoutRoomForGradients) {
  const StepPlanner planner({sizes_of_model("llama3-8b"), 1024, 1024});
  const std::vector<PlanCandidate> found =
      search_plans(planner, space_of(planner, meshes_of(chip("v5p"), 1), Bytes(96e9)));
  EXPECT_GT(found[0].step.memory.update.value, 16e9);
  EXPECT_FALSE(found[0].fits());
}

/// One sequence of 16 tokens: no data parallelism, and at most 16 ranks with parts of it.
TEST(PlanSearch, LeavesOutWhatSplitsTheBatchTooFar) {
  TransformerConfig config = sizes_of_model("llama3-8b");
  config.layers = 2;
  const StepPlanner planner({config, 16, 16});
  const std::vector<PlanCandidate> found =
      search_plans(planner, space_of(planner, meshes_of(chip("v5p"), 64), Bytes(0)));
  ASSERT_FALSE(found.empty());
  for (const PlanCandidate& each : found) {
    EXPECT_EQ(ranks_with(splits_batch, each.step.mesh, each.step.strategy), 1);
    EXPECT_LE(ranks_with(shares_sequences, each.step.mesh, each.step.strategy), 16);
  }
}

}  // namespace
}  // namespace shardline
