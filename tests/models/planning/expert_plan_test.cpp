// Plans of models with experts: the closed form beside counted bytes and FLOPs of derived programs, and what a search
// tries.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "models/architecture/accounting.h"
#include "models/architecture/known_models.h"
#include "models/planning/plan_search.h"
#include "models/strategy/layer_traffic.h"
#include "program/partition/partition.h"
#include "program/price/wire.h"
#include "roofline/machine/catalogue.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

/// 4 experts, of which a token passes 2.
TransformerConfig small(Index layers) {
  TransformerConfig config{64, 32, layers, 4, 2, 8, 48};
  config.experts = {.count = 4, .chosen = 2};
  return config;
}

roofline::Hardware v5p(const std::string& mesh) {
  return roofline::hardware_named("v5p", AbstractMesh::parse(mesh), DType::bf16);
}

/// 64 sequences of 16 tokens, with as many places as choices if these are even.
PlannedRun run_of(const TransformerConfig& config, DType dtype = DType::bf16) {
  return {.config = config, .tokens = 64 * 16, .sequence = 16, .dtype = dtype, .capacity = 1};
}

PlannedStep planned(const TransformerConfig& config, const std::string& mesh_text, const std::string& strategy) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  return StepPlanner(run_of(config)).price(mesh, parse_strategy(strategy, mesh), v5p(mesh_text));
}

/// Elements that leave a rank in each AllToAll of tokens in the places of experts, by pass.
std::map<Pass, std::vector<Index>> sent_to_experts(const std::string& mesh_text, const std::string& strategy) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  const BatchShape batch{.sequences = 64, .tokens = 16, .capacity = 1};
  const Program program = make_training_step(small(2), batch, {}, {DType::bf16, DType::f32}).model.program;
  const RankProgram derived = partition(program, mesh, declare(program, mesh, parse_strategy(strategy, mesh)));
  std::map<Pass, std::vector<Index>> sent;
  for (const Step& step : derived.steps) {
    if (step.kind != StepKind::all_to_all || derived.array_of(step.operands[0]).dims.size() != 4) continue;
    sent[step.region.pass].push_back(moved(derived, step).sent);
  }
  return sent;
}

/// Section 4.4.1: two AllToAlls a layer in each pass. A rank of Z sends all but its own part of what the closed form
/// counts over all of Z.
TEST(ExpertPlan, ClosedFormCountsTheAllToAllsOfDerivedPrograms) {
  for (const auto& [mesh, strategy, x, z] : {std::tuple{"Z=4", "ep=Z", 1, 4},
                                             {"Z=4", "ep_fsdp=Z", 1, 4},
                                             {"X=2,Z=2", "fsdp=X,ep_fsdp=Z", 2, 2},
                                             {"X=8,Z=4", "zero1=X,ep=Z", 8, 4}}) {
    const Index tokens = 64 * 16 / x;
    const Index of_rank = tokens * 2 * 32 / z * (z - 1) / z;  // 2 experts, d_model 32
    const std::vector<Index> of_pass(2 * 2, of_rank);         // two layers
    EXPECT_EQ(sent_to_experts(mesh, strategy),
              (std::map<Pass, std::vector<Index>>{{Pass::forward, of_pass}, {Pass::backward, of_pass}}))
        << strategy;
    ClosedFormQuery query;
    query.config = small(2);
    query.tokens = 64 * 16;
    query.chips = x * z;
    query.rates = {FlopsPerSecond(4.59e14), BytesPerSecond(1.8e11)};
    const ExpertSharding sharding = experts_answer(query)->sharding.value();
    EXPECT_EQ(sharding.sent.value * sharding.mesh.x, 2.0 * static_cast<double>(tokens * x) * 2 * 32);
  }
}

/// Products take 6 FLOPs for each weight that a token passes. The embedding is read without a product, norms too.
TEST(ExpertPlan, ProductsOfDerivedProgramsAreThoseOfActiveWeights) {
  const TransformerConfig config = small(5);
  const ParameterParts active = active_parameter_parts(config);
  for (const auto& [mesh, strategy, ranks] : {std::tuple{"X=2", "fsdp=X", 2.0},
                                              {"X=2,Z=4", "fsdp=X,ep_fsdp=Z", 8.0},
                                              {"X=4", "ep=X", 4.0},
                                              {"X=2,Y=2", "dp=X,tp_ep=Y", 4.0}}) {
    const AbstractMesh of_text = AbstractMesh::parse(mesh);
    double dense = 0, routed = 0;
    for (const PlannedKind& kind :
         StepPlanner(run_of(config)).kinds(of_text, parse_strategy(strategy, of_text), v5p(mesh))) {
      if (kind.kind == "einsum") dense += kind.flops.value;
      if (kind.kind == "expert_product" || kind.kind == "expert_product_back" || kind.kind == "expert_weight_grad") {
        routed += kind.flops.value;
      }
    }
    const double tokens = 64 * 16;
    EXPECT_EQ(routed * ranks, 6 * tokens * static_cast<double>(active.experts)) << strategy;
    const Index others = active.attention + active.router + active.vocabulary / 2;
    if (std::string(strategy).find("tp") == std::string::npos) {
      EXPECT_EQ(dense * ranks, 6 * tokens * static_cast<double>(others)) << strategy;
    }
  }
}

/// Experts over 4 ranks: a rank holds one of each layer. All else is whole under ep, and split under ep_fsdp.
TEST(ExpertPlan, ARankHoldsItsExperts) {
  const ParameterParts parts = parameter_parts(small(5));
  const auto experts = static_cast<double>(parts.experts);
  const auto norms = static_cast<double>(parts.norms);
  const auto others = static_cast<double>(parts.total() - parts.experts - parts.norms);
  // Weights in bf16, but norms, which are never split, in f32.
  EXPECT_EQ(planned(small(5), "Z=4", "ep=Z").memory.weights.value, 2 * (experts / 4 + others) + 4 * norms);
  EXPECT_EQ(planned(small(5), "Z=4", "ep_fsdp=Z").memory.weights.value, 2 * (experts / 4 + others / 4) + 4 * norms);
  EXPECT_EQ(planned(small(5), "X=2,Z=4", "fsdp=X,ep=Z").memory.weights.value,
            2 * (experts / 8 + others / 2) + 4 * norms);
  EXPECT_EQ(weights_of_chip(small(5), Bytes(1), 2, 4).value, experts / 8 + (others + norms) / 2);
}

std::vector<PlanCandidate> searched(const TransformerConfig& config, Index chips) {
  const StepPlanner planner(run_of(config));
  PlanSpace space;
  space.meshes = meshes_of(*roofline::find_chip("v5p"), chips);
  for (ChipMesh& each : space.meshes) add_expert_roles(each);
  for (const ChipMesh& each : expert_meshes_of(*roofline::find_chip("v5p"), chips, config.experts.count)) {
    space.meshes.push_back(each);
  }
  space.hardware_of = [](const ChipMesh& mesh) {
    return roofline::hardware_of(*roofline::find_chip("v5p"), mesh.mesh, mesh.layout, DType::bf16);
  };
  return search_plans(planner, space);
}

/// Every row that splits experts is tried, alone and beside others, and never over more ranks than there are experts.
TEST(ExpertPlan, TheSearchTriesEveryRowOfExperts) {
  std::set<std::string> seen;
  for (const PlanCandidate& each : searched(small(3), 8)) {
    seen.insert(to_string(each.step.strategy));
    EXPECT_LE(ranks_with(splits_experts, each.step.mesh, each.step.strategy), 4);
  }
  for (const char* strategy : {"fsdp=X", "ep=Z,fsdp=X", "ep_fsdp=Z,fsdp=X", "ep=X,tp=Y", "ep_fsdp=X,tp=Y",
                               "fsdp=X,tp_ep=Y", "ep_fsdp=Z,fsdp=X,tp=Y"}) {
    EXPECT_TRUE(seen.contains(strategy)) << strategy;
  }
  EXPECT_FALSE(seen.contains("ep=X")) << "8 ranks, 4 experts";
}

TEST(ExpertPlan, MeshesHaveNoSuchRowsUntilTheyAreAdded) {
  for (const ChipMesh& each : meshes_of(*roofline::find_chip("v5p"), 8)) {
    for (const Strategy& strategy : strategies_on(each)) {
      EXPECT_EQ(ranks_with(splits_experts, each.mesh, strategy), 1) << to_string(strategy);
    }
  }
}

TEST(ExpertPlan, RefusesPartsThatNoProgramHas) {
  EXPECT_EQ(usage_message([] {
              StepPlanner({sizes_of_model("deepseek-v3"), 4096, 4096});
            }),
            "no program has latent attention, shared experts, layers without experts");
}

}  // namespace
}  // namespace shardline
