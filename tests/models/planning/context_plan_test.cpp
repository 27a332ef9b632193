// Plans with context parallelism: the closed form beside counted bytes of derived programs, and section 6.3 of the
// book.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/architecture/known_models.h"
#include "models/architecture/transformer.h"
#include "models/planning/plan_search.h"
#include "models/strategy/layer_traffic.h"
#include "program/partition/partition.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

using roofline::CountedPasses;

const roofline::Chip& v5p() { return *roofline::find_chip("v5p"); }

ClosedFormQuery query_of(const TransformerConfig& config, double tokens, Index sequence) {
  ClosedFormQuery query;
  query.config = config;
  query.tokens = tokens;
  query.sequence = sequence;
  query.rates = {v5p().matmul, v5p().link * 2};
  return query;
}

/// Tokens in sequences of 4096 on a v5p pod.
ClosedFormQuery llama(double tokens) {
  ClosedFormQuery query = query_of(sizes_of_model("llama3-70b"), tokens, 4096);
  query.chips = 8960;
  query.capacity = v5p().capacity;
  return query;
}

StrategyAnswer named(const std::vector<StrategyAnswer>& answers, const std::string& name) {
  const auto found =
      std::find_if(answers.begin(), answers.end(), [&](const StrategyAnswer& each) { return each.name == name; });
  return found == answers.end() ? StrategyAnswer{} : *found;
}

/// Bytes over axis C of a layer, by pass.
std::map<Pass, Bytes> moved_over_c(const TransformerConfig& config, const BatchShape& batch, const std::string& mesh,
                                   const std::string& text) {
  const AbstractMesh of_text = AbstractMesh::parse(mesh);
  const TrainingStep step = make_training_step(config, batch, {}, {DType::bf16, DType::f32});
  const Program& program = step.model.program;
  const RankProgram derived = partition(program, of_text, declare(program, of_text, parse_strategy(text, of_text)));
  std::map<Pass, Bytes> bytes;
  for (const auto& [pass, axes] : pass_traffic(derived)) {
    const auto found = axes.find({"C"});
    if (found != axes.end()) bytes[pass] = found->second;
  }
  return bytes;
}

/// Section 5.1.1: keys and values are gathered, and their gradients scattered. In the derived programs nothing else
/// moves over C alone where the weights are on X too.
TEST(ContextPlan, ClosedFormCountsTheBytesOfDerivedPrograms) {
  const TransformerConfig config{64, 32, 1, 8, 4, 4, 48};
  for (const auto& [mesh, strategy, x, y] : {std::tuple{"X=2,C=4", "fsdp=X,cp_fsdp=C", 8.0, 1.0},
                                             {"X=2,C=2", "dp=X,cp=C", 4.0, 1.0},
                                             {"X=2,C=4,Y=2", "fsdp=X,cp_fsdp=C,tp=Y", 8.0, 2.0},
                                             {"X=2,C=4,Y=4", "dp=X,cp=C,tp=Y", 8.0, 4.0}}) {
    const Bytes expected = context_bytes(query_of(config, 2 * 64, 64), x, y);
    EXPECT_EQ(expected, Bytes(2.0 * 2 * 64 * 4 * 4 / y)) << "two arrays of bf16, a sequence, heads of keys";
    const std::map<Pass, Bytes> moved = moved_over_c(config, {2, 64}, mesh, strategy);
    EXPECT_EQ(moved, (std::map<Pass, Bytes>{{Pass::forward, expected}, {Pass::backward, expected}})) << strategy;
  }
}

/// The question of section 6.3: 1024 sequences, so 8192-way FSDP is 1024-way data and 8-way context parallelism, and is
/// bound by communication. 2048 x 4 is 1024 x 2 x 4.
TEST(ContextPlan, SectionSixThree) {
  const ClosedFormQuery query = llama(4194304);
  EXPECT_EQ(query.data_ways(512), 512);
  EXPECT_EQ(query.data_ways(2048), 1024);
  const StrategyAnswer fsdp = named(strategy_answers(query), "fsdp+cp_fsdp");
  EXPECT_EQ(fsdp.mesh, "X=1024,C=8");
  EXPECT_EQ(
      fsdp.bound,
      "needs 850.0 tokens a chip, has 468.1 (512.0 in the mesh), keys and values take 14.9 ms: communication binds");
  const double weights = 80 * 12.0 * 8192 * 28672 / (3 * 1.8e11);
  const double keys = 80 * 2 * (2 * 2 * 4096.0 * 1024) / 1.8e11;
  EXPECT_DOUBLE_EQ(fsdp.comms.value, weights + keys);
  EXPECT_EQ(named(strategy_answers(query), "dp+cp").mesh, "X=1024,C=8");
  EXPECT_EQ(named(strategy_answers(query), "fsdp+tp").mesh, "X=1024,Y=8") << "as many chips on X as sequences";
  const MixedAnswer forward = mixed_answer(query, CountedPasses::forward);
  EXPECT_EQ(forward.mesh.x, 2048);
  EXPECT_DOUBLE_EQ(forward.context.value, 80 * (2 * 2 * 4096.0 * 1024 / 4) / 1.8e11);
  EXPECT_EQ(mixed_answer(query, CountedPasses::both_keeping).context, Seconds(0));
  EXPECT_EQ(named(strategy_answers(llama(4096)), "fsdp+cp_fsdp").name, "") << "one sequence is on C alone";
  EXPECT_EQ(named(strategy_answers(llama(4096)), "cp_fsdp").mesh, "C=8192");
}

TEST(ContextPlan, MeshesOfTheBook) {
  const ChipMesh given = laid_over(v5p(), AbstractMesh::parse("X=2048,Y=4"), {});
  const ChipMesh fitted = with_context(given, 1024);
  EXPECT_EQ(fitted.mesh.to_string(), "{X:1024, C:2, Y:4}");
  EXPECT_EQ(fitted.layout, given.layout);
  EXPECT_EQ(laid_over(v5p(), AbstractMesh::parse("X=1024,C=2,Y=4"), {}).layout, given.layout);
  EXPECT_EQ(laid_over(v5p(), AbstractMesh::parse("X=1024,S=2,Y=4"), {{"X", 2}, {"S", 0}}).layout, given.layout);
  EXPECT_EQ(with_context(given, 2048).mesh, given.mesh) << "enough sequences";
  EXPECT_EQ(with_context(given, 1).mesh.to_string(), "{C:2048, Y:4}");
  EXPECT_EQ(with_context(given, 1).layout.at("C"), given.layout.at("X"));
  EXPECT_EQ(with_context(joined_pods(given, 4), 1024).mesh.to_string(), "{pods:4, X:256, C:8, Y:4}");
  EXPECT_EQ(with_context(joined_pods(given, 4), 2).mesh, joined_pods(given, 4).mesh) << "the pods are too many already";
  EXPECT_EQ(with_context(chip_mesh(AbstractMesh::parse("X=15")), 4).mesh.to_string(), "{X:3, C:5}");
  EXPECT_EQ(laid_over_torus({16, 20, 28}, AbstractMesh::parse("X=280,C=2,Y=16")).layout.at("X"),
            (std::vector<Index>{20, 28}));
}

PlannedStep priced(const std::string& mesh_text, const std::string& strategy) {
  const StepPlanner planner({sizes_of_model("llama3-70b"), 4194304, 4096});
  const ChipMesh mesh = laid_over(v5p(), AbstractMesh::parse(mesh_text), {});
  return planner.price(mesh.mesh, parse_strategy(strategy, mesh.mesh),
                       roofline::hardware_of(v5p(), mesh.mesh, mesh.layout, DType::bf16));
}

/// A rank computes the same with half a sequence as with half as many sequences, and the collectives of keys and values
/// take what the closed form says of both passes. Exact bytes and latencies add less than a fifth.
TEST(ContextPlan, PricesAgreeWithTheClosedForm) {
  const PlannedStep context = priced("X=1024,C=2,Y=4", "fsdp=X,cp_fsdp=C,tp=Y");
  const PlannedStep data = priced("X=1024,Y=8", "fsdp=X,tp=Y");
  EXPECT_NEAR(context.flops / data.flops, 1, 0.001);
  EXPECT_EQ(data.context, Seconds(0));
  const Seconds closed = context_time(llama(4194304), 2048, 4, CountedPasses::both_keeping);
  EXPECT_GT(context.context.value, closed.value);
  EXPECT_LT(context.context.value, 1.2 * closed.value);
  const double whole = 8192 * 14.0 * 4096 * 4097 / 2 * 80 * 1024 / 8192;
  const PlannedStep cut = priced("X=1024,C=8", "fsdp=X,cp_fsdp=C");
  EXPECT_NEAR(cut.attention.value, whole / 4.59e14, 0.1 * whole / 4.59e14) << "an eighth of the pairs of a sequence";
}

std::vector<PlanCandidate> searched(Index tokens, const std::vector<ChipMesh>& meshes, const std::string& strategy) {
  TransformerConfig config = sizes_of_model("llama3-8b");
  config.layers = 2;
  const StepPlanner planner({config, tokens, 2048});
  PlanSpace space{.meshes = meshes, .as_given = !strategy.empty(), .strategy = strategy};
  space.closed = query_of(config, static_cast<double>(tokens), 2048);
  space.hardware_of = [](const ChipMesh& each) {
    return roofline::hardware_of(v5p(), each.mesh, each.layout, DType::bf16);
  };
  return search_plans(planner, space);
}

/// With fewer sequences than ranks, the search makes layouts in which every rank has tokens.
TEST(ContextPlan, SearchSplitsSequencesWhereThereAreTooFew) {
  for (const Index sequences : {1, 4, 16}) {
    const std::vector<PlanCandidate> found = searched(sequences * 2048, meshes_of(v5p(), 16), "");
    bool splits = false;
    for (const PlanCandidate& each : found) {
      const PlannedStep& step = each.step;
      EXPECT_EQ(step.mesh.ranks(), 16);
      EXPECT_LE(ranks_with(splits_batch, step.mesh, step.strategy), sequences);
      splits = splits || ranks_with(shares_sequences, step.mesh, step.strategy) > 1;
    }
    EXPECT_EQ(splits, sequences < 16) << sequences;
  }
}

TEST(ContextPlan, GivenStrategiesMustGiveEveryRankTokens) {
  const auto count = [](const std::string& mesh, const std::string& strategy) {
    return searched(8 * 2048, {laid_over(v5p(), AbstractMesh::parse(mesh), {})}, strategy).size();
  };
  EXPECT_EQ(count("X=8,C=4", "fsdp=X,cp_fsdp=C"), 1U);
  EXPECT_EQ(count("X=16,C=2", "fsdp=X,cp_fsdp=C"), 0U) << "8 sequences";
  EXPECT_EQ(count("X=8,C=8", "fsdp=X,cp_heads=C"), 1U);
  EXPECT_EQ(count("X=8,C=16", "fsdp=X,cp_heads=C"), 0U) << "8 heads of keys and values";
  EXPECT_EQ(count("X=4,C=4,Y=4", "fsdp=X,cp_heads=C,tp=Y"), 0U) << "tp takes some of the heads";
  EXPECT_EQ(count("X=4,C=4096", "fsdp=X,cp=C"), 0U) << "2048 tokens";
  EXPECT_EQ(count("X=8,Y=4", "fsdp=X,tp_seq=Y"), 1U);
}

}  // namespace
}  // namespace shardline
