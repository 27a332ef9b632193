// Greedy texts under every role of generation against one rank, in f64 and f32; planted faults; hand-made texts. In one
// job of five ranks, the first ranks form each mesh in turn.

#include "models/parity/generation_parity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/parity/parity.h"
#include "tests/models/small_training.h"

namespace shardline {
namespace {

class GenerationParity : public testing::Test {
 protected:
  static const std::map<ParityTask, GenerationReference>& references() {
    static const std::map<ParityTask, GenerationReference> kTexts = generation_references();
    return kTexts;
  }

  /// Collective over all ranks. Only the ranks of the layout's mesh call `expect`.
  template <class Expect>
  void with_difference(const GenerationLayout& layout, const Fault* fault, Expect expect) {
    const GenerationReference& wanted = references().at(layout.task);
    on_first(world_, static_cast<int>(layout.mesh.ranks()), [&](const mpi::Communicator& part) {
      SCOPED_TRACE(layout.mesh.to_string() + " " + to_string(layout));
      expect(compare_generation(part, layout, wanted, fault));
    });
  }

  mpi::Communicator world_ = mpi::Communicator::world();
};

TEST_F(GenerationParity, EveryRoleOnEveryAxis) {
  for (const GenerationLayout& layout : generation_layouts(world_.size())) {
    with_difference(layout, nullptr, [](const GenerationDifference& difference) {
      EXPECT_LE(difference.f64.logits, kParityTolerance);
      EXPECT_FALSE(difference.f64.first);
      ASSERT_TRUE(difference.f32);
      EXPECT_LE(difference.f32->logits, kSingleTolerance);
      EXPECT_TRUE(difference.passes());
      EXPECT_FALSE(difference.planted);
    });
  }
}

/// The texts are no constant: models without a say would agree on every mesh.
TEST_F(GenerationParity, TheReferenceHasTextsOfManyTokens) {
  for (const auto& [task, texts] : references()) {
    std::set<std::int32_t> met;
    for (const auto& tokens : texts.f64.tokens) met.insert(tokens.begin(), tokens.end());
    EXPECT_GE(met.size(), 6U);
  }
}

/// Faults of caches have a place exactly where they should, and are found there.
TEST_F(GenerationParity, FaultsAreFound) {
  for (const char* mesh_text : {"X=1", "X=2", "X=2,Y=2"}) {
    const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
    if (mesh.ranks() > world_.size()) continue;
    for (const std::string role : {"dp", "tp_rep", "rep_b", "rep_s"}) {
      const bool one = mesh.axes().size() == 1;
      const std::string strategy = one ? role + "=X" : "tp_rep=X," + role + "=Y";
      for (const Index chunk : {0, 3}) {
        const GenerationLayout layout{
            .mesh = mesh, .decode = parse_strategy(strategy, mesh, RoleUse::generation), .chunk = chunk};
        for (const Fault& fault : faults()) {
          if (fault.in_generation == nullptr) continue;
          const bool place = fault.name != "cache-places-in-order" || (role == "rep_s" && mesh.ranks() > 1);
          with_difference(layout, &fault, [&](const GenerationDifference& difference) {
            EXPECT_EQ(difference.planted, place) << fault.name;
            EXPECT_NE(difference.passes(), place) << fault.name;
            EXPECT_FALSE(difference.f32) << fault.name;
          });
        }
      }
    }
  }
}

/// Faults of training are none of generation, and the other way round.
TEST(FaultsOfGeneration, StandInNoTrainingStep) {
  int generating = 0;
  for (const Fault& fault : faults()) {
    if (fault.in_generation == nullptr) continue;
    ++generating;
    EXPECT_TRUE(fault.in_program == nullptr && fault.in_rings == nullptr && fault.in_state == nullptr &&
                fault.in_samples == nullptr)
        << fault.name;
  }
  EXPECT_EQ(generating, 3);
}

/// Two texts of two tokens, each chosen from three logits.
GreedyTexts hand_made() {
  return {.tokens = {{2, 1}, {0, 2}}, .logits = {{{1, 2, 4}, {0, 8, 7}}, {{2, 1, 0}, {0, 0, 5}}}};
}

TEST(DifferenceOfTexts, IsThatOfLogitsBesideTheLargest) {
  GreedyTexts made = hand_made();
  EXPECT_EQ(difference_of(hand_made(), made).logits, 0);
  made.logits[0][1] = {0, 8, 6};
  made.logits[1][0] = {2, 1.25, 0};
  const TextDifference difference = difference_of(hand_made(), made);
  EXPECT_DOUBLE_EQ(difference.logits, 0.125);  // 1/8 and 0.25/2
  EXPECT_FALSE(difference.first);
  made.logits[1][1][0] = std::nan("");
  EXPECT_TRUE(std::isinf(difference_of(hand_made(), made).logits));
}

TEST(DifferenceOfTexts, EndsATextAtItsFirstOtherToken) {
  GreedyTexts made = hand_made();
  made.tokens = {{2, 2}, {1, 0}};
  made.logits[1][1] = {100, 100, 100};  // after the other token: of another text
  const TextDifference difference = difference_of(hand_made(), made);
  EXPECT_EQ(difference.logits, 0);
  ASSERT_TRUE(difference.first);
  EXPECT_EQ(difference.first->text, 1) << "its token comes earlier";
  EXPECT_EQ(difference.first->token, 0);
  EXPECT_EQ(difference.first->wanted, 0);
  EXPECT_EQ(difference.first->made, 1);
  EXPECT_DOUBLE_EQ(difference.first->gap, 0.5);
  EXPECT_FALSE(difference.first->within_rounding());
}

TEST(DifferenceOfTexts, MayBeRoundingInF32Alone) {
  GreedyTexts made = hand_made(), wanted = hand_made();
  wanted.logits[0][0] = {1, 4 - 1e-6, 4};
  made.tokens[0] = {1, 0};
  made.logits[0][0] = {1, 4 + 1e-6, 4};
  const TextDifference difference = difference_of(wanted, made);
  ASSERT_TRUE(difference.first);
  EXPECT_NEAR(difference.first->gap, 0.25e-6, 1e-12);
  EXPECT_TRUE(difference.first->within_rounding());
  GenerationDifference both;
  both.f32 = difference;
  EXPECT_TRUE(both.passes());
  both.f64 = difference;
  EXPECT_FALSE(both.passes());
}

TEST(GenerationLayouts, HaveEachRoleOnEachAxisOfEachMesh) {
  const std::vector<AxisRole> roles = roles_for_use(RoleUse::generation);
  for (const Index ranks : {1, 2, 4, 8}) {
    std::map<std::string, std::set<AxisRole>> met;
    std::set<AxisRole> prefill;
    for (const GenerationLayout& layout : generation_layouts(ranks)) {
      EXPECT_LE(layout.mesh.ranks(), ranks);
      for (const auto& [axis, role] : layout.decode) met[layout.mesh.to_string() + axis].insert(role);
      EXPECT_NE(layout.prefill, std::optional(layout.decode)) << to_string(layout);
      if (!layout.prefill) continue;
      for (const auto& [axis, role] : *layout.prefill) prefill.insert(role);
    }
    for (const auto& [axis, found] : met) EXPECT_EQ(found.size(), axis == "{X:1}X" ? 1 : roles.size()) << axis;
    if (ranks > 2) {
      EXPECT_EQ(prefill.size(), roles.size()) << ranks;
    }
  }
}

TEST(GenerationLayouts, HaveEachModelWithAndWithoutOtherRolesOfPrefill) {
  for (const Index ranks : {2, 4, 8}) {
    std::map<ParityTask, std::set<bool>> met;
    for (const GenerationLayout& layout : generation_layouts(ranks)) {
      met[layout.task].insert(layout.prefill.has_value());
    }
    EXPECT_EQ(met.size(), 4U) << ranks;
    for (const auto& [task, prefill] : met) EXPECT_EQ(prefill.size(), 2U) << ranks << " " << static_cast<int>(task);
  }
}

TEST(GenerationLayouts, OfAllBeginWithThoseOfTheDefault) {
  const auto name = [](const GenerationLayout& layout) { return layout.mesh.to_string() + " " + to_string(layout); };
  std::vector<std::string> usual, all;
  for (const GenerationLayout& layout : generation_layouts(2)) usual.push_back(name(layout));
  for_each_generation_layout(2, [&](const GenerationLayout& layout) { all.push_back(name(layout)); });
  const std::size_t roles = roles_for_use(RoleUse::generation).size();
  ASSERT_EQ(all.size(), usual.size() + 2 * roles * roles) << "every two strategies of X=1 and of X=2 come after";
  EXPECT_TRUE(std::equal(usual.begin(), usual.end(), all.begin()));
}

}  // namespace
}  // namespace shardline
