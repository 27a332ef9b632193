#include "collectives/schedule/tuning.h"

#include <gtest/gtest.h>

#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

TEST(Tuning, BuiltInTakesWhatTheDocumentationSays) {
  const Tuning tuning = Tuning::built_in();
  const auto on = [&](LinkKind link, Kind kind, Index ranks, Index bytes, bool direct = false) {
    return choose(tuning, {.kind = kind, .link = link, .ranks = ranks, .bytes = bytes, .direct = direct});
  };
  for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all, Kind::shift}) {
    EXPECT_EQ(on(LinkKind::node, kind, 7, 1 << 20, true), Algorithm::direct) << name_of(kind);
  }
  EXPECT_EQ(on(LinkKind::node, Kind::all_reduce, 4, 100), Algorithm::pairwise);
  EXPECT_EQ(on(LinkKind::node, Kind::reduce_scatter, 4, 1 << 20), Algorithm::pairwise);
  EXPECT_EQ(on(LinkKind::node, Kind::all_gather, 4, 16 << 10), Algorithm::doubling);
  EXPECT_EQ(on(LinkKind::node, Kind::all_gather, 4, (16 << 10) + 1), Algorithm::ring);
  EXPECT_EQ(on(LinkKind::network, Kind::all_reduce, 4, 16 << 10), Algorithm::doubling);
  EXPECT_EQ(on(LinkKind::network, Kind::all_reduce, 4, (16 << 10) + 1), Algorithm::bidirectional);
  EXPECT_EQ(on(LinkKind::network, Kind::all_gather, 2, 1 << 20), Algorithm::pairwise);
  EXPECT_EQ(on(LinkKind::network, Kind::all_to_all, 4, 1 << 20), Algorithm::pairwise);
  EXPECT_EQ(on(LinkKind::network, Kind::shift, 4, 1 << 20), Algorithm::ring);
}

TEST(Tuning, TheFirstRuleThatHoldsAndIsPossibleIsTaken) {
  Tuning tuning;
  tuning.rules = {{Kind::all_gather, LinkKind::node, 4, 1000, Algorithm::direct},
                  {Kind::all_gather, LinkKind::node, 4, 1000, Algorithm::bidirectional},
                  {Kind::all_gather, LinkKind::node, Tuning::kAny, Tuning::kAny, Algorithm::doubling}};
  Question question{.kind = Kind::all_gather, .link = LinkKind::node, .ranks = 4, .bytes = 1000, .direct = true};
  EXPECT_EQ(choose(tuning, question), Algorithm::direct);
  question.direct = false;
  EXPECT_EQ(choose(tuning, question), Algorithm::bidirectional);
  question.ranks = 5;
  EXPECT_EQ(choose(tuning, question), Algorithm::doubling);
  question.link = LinkKind::network;
  EXPECT_EQ(choose(tuning, question), Algorithm::ring);
}

TEST(Tuning, AWireOfBfloat16IsKept) {
  const Tuning tuning = Tuning::built_in();
  for (const Kind kind : {Kind::reduce_scatter, Kind::all_reduce}) {
    for (const LinkKind link : {LinkKind::node, LinkKind::network}) {
      for (const Index ranks : {2, 5}) {
        for (const Index bytes : {10, 1 << 20}) {
          for (const Wire wire : {Wire::exchange, Wire::f32, Wire::hop}) {
            const Question question{
                .kind = kind, .link = link, .ranks = ranks, .bytes = bytes, .reduces_bf16 = true, .wire = wire};
            EXPECT_EQ(wire_for(wire, choose(tuning, question), DType::bf16), wire);
          }
        }
      }
    }
  }
}

TEST(Tuning, AUniformAnswerDependsOnNoSizeAndNoRule) {
  Tuning measured;
  measured.rules = {{Kind::all_reduce, LinkKind::node, 4, 1000, Algorithm::doubling},
                    {Kind::all_reduce, LinkKind::node, Tuning::kAny, Tuning::kAny, Algorithm::ring},
                    {Kind::all_reduce, LinkKind::network, 4, 1000, Algorithm::pairwise}};
  for (const Tuning& tuning : {Tuning::built_in(), measured}) {
    for (const Index bytes : {0, 8, 1000, 1 << 20}) {
      Question question{.kind = Kind::all_reduce, .ranks = 3, .bytes = bytes, .uniform = true};
      EXPECT_EQ(choose(tuning, question), Algorithm::pairwise) << "which adds as direct does";
      question.direct = true;
      EXPECT_EQ(choose(tuning, question), Algorithm::direct);
      question.link = LinkKind::network;
      question.direct = false;
      EXPECT_EQ(choose(tuning, question), Algorithm::doubling);
      for (const Wire wire : {Wire::exchange, Wire::f32, Wire::hop}) {
        for (const LinkKind link : {LinkKind::node, LinkKind::network}) {
          question.link = link;
          question.wire = wire;
          question.reduces_bf16 = true;
          const Algorithm chosen = choose(tuning, question);
          EXPECT_EQ(wire_for(wire, chosen, DType::bf16), wire);
          EXPECT_EQ(chosen, wire == Wire::exchange ? Algorithm::pairwise : Algorithm::doubling);
        }
      }
    }
  }
}

TEST(Tuning, NamesAreReadBack) {
  for (const Algorithm algorithm : kAlgorithms) EXPECT_EQ(algorithm_named(std::string(name_of(algorithm))), algorithm);
  try {
    algorithm_named("tree");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "there is no algorithm 'tree'; there are auto, ring, bidirectional, pairwise, doubling, direct, native");
  }
}

}  // namespace
}  // namespace shardline::collectives
