// Sweeps on programs made by hand: what may be one, how it is cut, what it takes of memory and time.
#include "program/plan/sweeps.h"

#include <gtest/gtest.h>

#include "program/ir/print.h"
#include "program/ops/add.h"
#include "program/ops/einsum.h"
#include "program/ops/gelu.h"
#include "program/ops/rms_norm.h"
#include "program/ops/squared_error.h"
#include "program/partition/partition.h"
#include "program/plan/compiled.h"
#include "program/transform/differentiate.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

constexpr Index kB = 2, kT = 6, kD = 8;

/// h = a + b, y = norm(h), in f32 on one rank.
struct Chain {
  Program p;
  ArrayId a = -1, b = -1, w = -1, h = -1, y = -1;

  Chain() {
    p.sizes = {{"B", kB}, {"T", kT}, {"D", kD}};
    a = p.add_input("a", {"B", "T", "D"}, Role::activation);
    b = p.add_input("b", {"B", "T", "D"}, Role::activation);
    w = p.add_input("w", {"D"}, Role::parameter);
    h = add(p, "h", {a, b});
  }
  void norm() { y = rms_norm(p, "y", h, w, 1e-5); }
};

/// On a mesh of one axis X. Inputs and outputs lie split by X over their dim `split`, if they have it.
RankProgram on_ranks(const Program& p, Index ranks = 1, const std::string& split = "") {
  const AbstractMesh mesh({{"X", ranks}});
  std::map<ArrayId, Sharding> layouts;
  for (const std::vector<ArrayId>* ids : {&p.inputs, &p.outputs}) {
    for (const ArrayId id : *ids) {
      Sharding sharding = Sharding::replicated(p.array(id).dims.size());
      for (std::size_t d = 0; d < p.array(id).dims.size(); ++d) {
        if (p.array(id).dims[d] == split) sharding.dims[d] = {"X"};
      }
      layouts[id] = sharding;
    }
  }
  return partition(p, mesh, {.layouts = layouts, .work = {{"X", {split}}}, .policy = {}});
}

/// The sweeps as texts of step kinds: "add sum_squares_rows normalize".
std::vector<std::string> sweeps(const RankProgram& program, Index strip_bytes = 1) {
  std::vector<std::string> found;
  for (const Action& action : join_sweeps(program, in_order(program).actions, strip_bytes)) {
    if (action.kind != ActionKind::sweep) continue;
    std::string text;
    for (const int step : action.steps) {
      text += (text.empty() ? "" : " ") + kind_name(program, program.steps[static_cast<std::size_t>(step)]);
    }
    found.push_back(text);
  }
  return found;
}

using Found = std::vector<std::string>;

TEST(Sweeps, JoinStepsThatShareArrays) {
  Chain chain;
  chain.norm();
  chain.p.outputs = {chain.y};
  const RankProgram program = on_ranks(chain.p);
  EXPECT_EQ(sweeps(program), Found{"add sum_squares_rows normalize"});
  EXPECT_EQ(join_sweeps(program, in_order(program).actions, 1).size(), 1U);
  EXPECT_EQ(sweeps(on_ranks(chain.p, 3, "T")), Found{"add sum_squares_rows normalize"});
}

TEST(Sweeps, NeedMoreThan128Strips) {
  Chain chain;
  chain.norm();
  chain.p.outputs = {chain.y};
  const Index bytes = 4 * (4 * kB * kT * kD + kB * kT);  // a, b, h, y and the squares
  EXPECT_EQ(sweeps(on_ranks(chain.p), bytes / 128).size(), 1U);
  EXPECT_EQ(sweeps(on_ranks(chain.p), bytes / 128 + 1), Found{});
}

TEST(Sweeps, EndAtAKernelThatTakesNoStrips) {
  Chain chain;
  const ArrayId square = einsum(chain.p, "s", {chain.h, chain.h}, {"B", "T", "D"});
  chain.p.outputs = {gelu(chain.p, "y", gelu(chain.p, "x", square))};
  EXPECT_EQ(sweeps(on_ranks(chain.p)), Found{"gelu gelu"});
}

TEST(Sweeps, EndAtACollective) {
  Chain chain;
  chain.norm();
  chain.p.outputs = {chain.y};
  // X splits D, so the squares are summed over X between the two phases of the norm.
  EXPECT_EQ(sweeps(on_ranks(chain.p, 2, "D")), Found{"add sum_squares_rows"});
}

TEST(Sweeps, NeedASharedArray) {
  Chain chain;
  chain.p.outputs = {chain.h, gelu(chain.p, "x", chain.p.add_input("c", {"B", "T", "D"}, Role::activation))};
  EXPECT_EQ(sweeps(on_ranks(chain.p)), Found{});
  Chain shares;
  shares.p.outputs = {shares.h, gelu(shares.p, "x", shares.a)};
  EXPECT_EQ(sweeps(on_ranks(shares.p)), Found{"add gelu"});
}

TEST(Sweeps, StayInOnePassOfOneMicroBatch) {
  for (const Region& region : {Region{.pass = Pass::backward}, Region{.micro_batch = 1}}) {
    Chain chain;
    chain.p.region = region;
    chain.norm();
    chain.p.outputs = {chain.y};
    EXPECT_EQ(sweeps(on_ranks(chain.p)), Found{"sum_squares_rows normalize"});
  }
  Chain layers;
  layers.p.region.layer = 1;
  layers.norm();
  layers.p.outputs = {layers.y};
  EXPECT_EQ(sweeps(on_ranks(layers.p)), Found{"add sum_squares_rows normalize"});
}

/// The gradient of w is a sum over all strips: what reads it waits for the last strip.
TEST(Sweeps, EndBeforeASumIsRead) {
  Program p;
  p.sizes = {{"T", kT}, {"D", kD}};
  const ArrayId x = p.add_input("x", {"T", "D"}, Role::activation);
  const ArrayId w = p.add_input("w", {"D"}, Role::parameter);
  const ArrayId y = rms_norm(p, "y", x, w, 1e-5);
  const ArrayId dy = p.add_input("dy", {"T", "D"}, Role::gradient);
  p.array(dy).primal = y;
  const std::map<ArrayId, ArrayId> gradients = differentiate(p, {{y, dy}}, {x, w});
  const std::size_t before = p.operations.size();
  p.outputs = {gradients.at(x), add(p, "sum", {gradients.at(w), w})};
  EXPECT_EQ(sweeps(on_ranks(p)), (Found{"sum_squares_rows normalize", "norm_dot norm_grad"}));
  p.outputs = {add(p, "more", {gradients.at(x), x}), gradients.at(w)};
  std::swap(p.operations[before], p.operations[before + 1]);
  EXPECT_EQ(sweeps(on_ranks(p)), (Found{"sum_squares_rows normalize", "norm_dot norm_grad add"}));
}

TEST(Sweeps, NeedArraysThatLieSplitAlike) {
  Chain chain;
  chain.norm();
  chain.p.outputs = {chain.y};
  RankProgram program = on_ranks(chain.p, 2, "B");
  ASSERT_EQ(sweeps(program).size(), 1U);
  program.versions[static_cast<std::size_t>(program.finals.at(chain.y))].sharding.dims = {{}, {"X"}, {}};
  EXPECT_EQ(sweeps(program), Found{"add sum_squares_rows"});
}

/// The boxes of all strips cover every position once, in order, and take no more bytes than wanted.
TEST(Sweeps, StripsCoverEveryPositionInOrder) {
  Chain chain;
  chain.norm();
  chain.p.outputs = {chain.y};
  for (const Index ranks : {1, 2, 3, 5, 7}) {
    const RankProgram program = on_ranks(chain.p, ranks, "T");
    const std::vector<int> steps = {0, 1, 2};
    for (Index rank = 0; rank < ranks; ++rank) {
      const Index tokens = local_shape(program, program.finals.at(chain.y), rank)[1];
      for (const Index bytes : {1, 200, 500, 1000, 2000}) {
        const Strips strips(program, steps, bytes, rank);
        ASSERT_EQ(strips.dims(), 2U);
        EXPECT_TRUE(strips.cuts(program.finals.at(chain.y)));
        EXPECT_FALSE(strips.cuts(program.inputs.at(chain.w)));
        Index next = 0;
        for (Index i = 0; i < strips.count(); ++i) {
          const std::vector<Range> box = strips.box(i);
          EXPECT_EQ(strips.first_position(i), next);
          EXPECT_EQ(box[0].begin * tokens + box[1].begin, next);
          EXPECT_TRUE(box[0].size() <= 1 || box[1] == (Range{0, tokens})) << "the part is not contiguous";
          next += box[0].size() * box[1].size();
          EXPECT_LE(box[0].size() * box[1].size(), std::max<Index>(1, bytes / (4 * (4 * kD + 1))));
          EXPECT_LE(box[0].size() * box[1].size(), strips.most_positions());
        }
        EXPECT_EQ(next, kB * tokens);
      }
    }
  }
}

/// Strips of one row. h and the squares pass; a, b and w are inputs, and y stays.
TEST(Sweeps, WhatPassesTakesOneStrip) {
  Chain chain;
  chain.norm();
  chain.p.outputs = {chain.y};
  const double row = 4 * kD, rows = kB * kT;
  const auto peak = [&](Index strip_bytes) {
    const auto compiled = compile(on_ranks(chain.p), {.scheduling = {{.strip_bytes = strip_bytes}}});
    return compiled->liveness().peak(0).value;
  };
  const double stays = 3 * rows * row + row;
  EXPECT_EQ(peak(0), stays + rows * (row + 4)) << "h and the squares, whole";
  EXPECT_EQ(peak(1), stays + row + 4);
}

/// The gradient of the error takes the storage of y, the last of whose readers it is. Neither passes.
TEST(Sweeps, WhatSharesItsStorageStaysWhole) {
  Program p;
  p.region.pass = Pass::backward;
  p.sizes = {{"T", kT}, {"D", kD}};
  const ArrayId x = p.add_input("x", {"T", "D"}, Role::activation);
  const ArrayId target = p.add_input("target", {"T", "D"}, Role::activation);
  const ArrayId loss = squared_error(p, "loss", gelu(p, "y", x), target);
  const ArrayId dloss = p.add_input("dloss", {}, Role::whole);
  p.array(dloss).primal = loss;
  p.outputs = {differentiate(p, {{loss, dloss}}, {x}).at(x)};
  prune(p);
  const RankProgram program = on_ranks(p);
  ASSERT_EQ(sweeps(program), Found{"gelu squared_error_grad gelu_grad"});
  const auto compiled = compile(program, {.scheduling = {{.strip_bytes = 1}}});
  // x, target, y with its gradient in one memory, and the gradient of x.
  EXPECT_EQ(compiled->liveness().peak(0).value, 4 * (4 * kT * kD + 1));
}

/// In a sweep of one row each, what an earlier step has touched is one strip away.
TEST(Sweeps, PricesFindArraysInTheCache) {
  Chain chain;
  chain.norm();
  chain.p.outputs = {chain.y};
  const double whole = 4 * kB * kT * kD, squares = 4 * kB * kT, w = 4 * kD;
  const double strip = (4 * whole + squares) / (kB * kT);
  const auto compiled = compile(on_ranks(chain.p), {.scheduling = {{.strip_bytes = 1}}});
  const std::vector<StripSteps> sweeps = compiled->liveness().strip_steps();
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps[0].strip, Bytes(strip));
  const std::vector<std::vector<Bytes>> distances = reuse_distances(compiled->program(), sweeps);
  // a, b and w were used a run ago. Since then: for a everything, for b all but a, for w also y, and all before it. The
  // squares and h have one strip.
  const double run = 6 * whole + 2 * squares + w;
  EXPECT_EQ(distances[0], (std::vector<Bytes>{Bytes(run), Bytes(run - whole), Bytes(strip)}));
  EXPECT_EQ(distances[1], (std::vector<Bytes>{Bytes(strip), Bytes(strip)}));
  EXPECT_EQ(distances[2][0], Bytes(strip));
  EXPECT_EQ(distances[2][1], Bytes(strip));
  EXPECT_EQ(distances[2][2], Bytes(w + 5 * whole + squares));

  // With a cache for strips that is ten times as fast as memory: a, b, w and y come from memory.
  roofline::Hardware machine{.matmul = FlopsPerSecond(1e30), .memory = BytesPerSecond(1e9), .overhead = Seconds(0)};
  machine.caches = roofline::Curve({{strip, 1e10}, {strip + 1, 1e9}});
  Seconds swept, apart;
  for (const StepEstimate& each : estimate(compiled->program(), machine, sweeps)) swept += each.price.time;
  for (const StepEstimate& each : estimate(compiled->program(), machine)) apart += each.price.time;
  EXPECT_NEAR(apart.value, (6 * whole + 2 * squares + w) / 1e9, 1e-15);
  EXPECT_NEAR(swept.value, (3 * whole + w) / 1e9 + (3 * whole + 2 * squares) / 1e10, 1e-15);
  const ScheduledTime time = scheduled_time(compiled->program(), compiled->schedule(),
                                            estimate(compiled->program(), machine, sweeps), machine);
  EXPECT_NEAR(time.total.value, swept.value, 1e-15);
  ASSERT_EQ(time.taken.size(), 3U);
  EXPECT_NEAR(time.taken[2].value, (whole + w) / 1e9 + (whole + squares) / 1e10, 1e-15);
}

}  // namespace
}  // namespace shardline
