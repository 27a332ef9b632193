// Runs of `direct` in flight together, one after the other, and on ranks with other work.

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/shared/direct_flags.h"
#include "runtime/base/check.h"
#include "tests/collectives/direct_fixture.h"

namespace shardline::collectives {
namespace {

/// An all_reduce between tensors of an arena and its expected sum.
struct Pending {
  Pending(Stage& stage, const Axes& axes, Index size, const std::string& name)
      : out(spoiled_in_arena(stage, DType::f32, {size})), handle(start(stage, axes, size, name)) {}

  Handle start(Stage& stage, const Axes& axes, Index size, const std::string& name) {
    const Mesh& mesh = stage.mesh;
    std::vector<Tensor> arrays;
    for (const Index rank : mesh.axes().group(mesh.rank(), axes)) {
      arrays.push_back(whole_numbers(DType::f32, {size}, fmt::format("{} {}", name, rank)));
    }
    expected = combine(ReduceOp::sum, arrays);
    // The operand's handle ends here: the run must share ownership of its memory.
    const Tensor in =
        in_arena(stage, arrays[static_cast<std::size_t>(mesh.axes().position_in_group(mesh.rank(), axes))]);
    return start_all_reduce(stage.engine, axes, ReduceOp::sum, in, out, kDirect);
  }
  void check() {
    handle.wait();
    EXPECT_TRUE(same_bits(out, expected));
  }

  Tensor expected;
  Tensor out;
  Handle handle;
};

struct DirectStage : Stage {
  explicit DirectStage(const AbstractMesh& axes_of_mesh, Index bytes = Index{2} << 20)
      : Stage({axes_of_mesh, axes_of_mesh.axes_that_move()}) {
    engine.set_arena(std::make_shared<Arena>(mesh, bytes));
  }
};

TEST(DirectProgress, MoreInFlightThanThereAreSlotsWaitedForInAnotherOrderOnEveryRank) {
  DirectStage stage(two_axes());
  std::vector<Pending> pending;
  constexpr std::size_t kRounds = direct::kSlots + 9;
  pending.reserve(3 * kRounds);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (const Axes& axes : {Axes{"X"}, Axes{"Y"}, Axes{"Y", "X"}}) {
      pending.emplace_back(stage, axes, round % 4 == 1 ? 6000 : 5, fmt::format("round {}", round));
    }
  }
  for (std::size_t k = 0; k < pending.size(); ++k) {
    pending[(k * 4 + static_cast<std::size_t>(stage.mesh.rank())) % pending.size()].check();
  }
  for (Pending& each : pending) each.check();
  EXPECT_EQ(stage.engine.in_flight(), 0);
}

TEST(DirectProgress, TwoMeshesWithAnArenaEachWaitedForCrosswise) {
  DirectStage stage(two_axes());
  DirectStage flat(AbstractMesh({{"X", world().size()}}));
  Pending one(stage, {"X", "Y"}, 9000, "one");
  Pending other(flat, {"X"}, 9000, "other");
  const bool even = stage.mesh.rank() % 2 == 0;
  (even ? one : other).check();
  (even ? other : one).check();
}

TEST(DirectProgress, ThousandsOfSmallOperations) {
  DirectStage stage(two_axes());
  const Index p = stage.mesh.ranks();
  Tensor value = in_arena(stage, Tensor::zeros(DType::i64, {3}));
  Tensor block = in_arena(stage, Tensor::zeros(DType::i64, {1}));
  Tensor all = in_arena(stage, Tensor::zeros(DType::i64, {p}));
  const Axes axes = stage.axes;
  const Index operations = p <= 2 ? 10000 : 1000;  // more ranks may share cores
  for (Index k = 0; k < operations; ++k) {
    if (k % 2 == 0) {
      for (Index i = 0; i < 3; ++i) value.view<std::int64_t>()[i] = stage.mesh.rank() * i + k;
      all_reduce(stage.engine, axes, ReduceOp::sum, value, value, kDirect);
      for (Index i = 0; i < 3; ++i) ASSERT_EQ(value.view<std::int64_t>()[i], p * (p - 1) / 2 * i + k * p);
    } else {
      block.view<std::int64_t>()[0] = stage.mesh.rank() + k;
      all_gather(stage.engine, axes, block, 0, all, kDirect);
      for (Index i = 0; i < p; ++i) ASSERT_EQ(all.view<std::int64_t>()[i], i + k);
    }
  }
}

TEST(DirectProgress, BesideOperationsThatSendMessages) {
  DirectStage stage(two_axes());
  const Axes axes = stage.axes;
  const Tensor whole = whole_numbers(DType::f32, {50000}, "beside");
  Tensor sent = spoiled(DType::f32, {50000});
  for (int round = 0; round < 3; ++round) {
    Handle ring = start_all_reduce(stage.engine, axes, ReduceOp::max, whole, sent, {.algorithm = Algorithm::ring});
    Pending pending(stage, axes, 20000, "beside");
    if (stage.mesh.rank() % 2 == 0) ring.wait();
    pending.check();
    ring.wait();
    EXPECT_TRUE(same_bits(sent, whole));
  }
}

TEST(DirectProgress, NamesThePeerThatDoesNotComeAndGoesOnWhenItDoes) {
  if (world().size() < 2) GTEST_SKIP() << "needs a peer";
  DirectStage stage(AbstractMesh({{"X", world().size()}}));
  Tensor value = in_arena(stage, Tensor::zeros(DType::f32, {100}));
  stage.mesh.group({"X"});  // itself a collective call
  const auto start = [&] { return start_all_reduce(stage.engine, {"X"}, ReduceOp::sum, value, value, kDirect); };
  if (stage.mesh.rank() == 0) {
    stage.engine.set_timeout(Seconds(0.05));
    Handle handle = start();
    expect_refused([&] { handle.wait(); },
                   {"all_reduce over X (tag ", "nothing has moved for 50", "mesh rank 1", "has not started"});
    world().barrier();
    stage.engine.set_timeout(Seconds(60));
    handle.wait();
  } else {
    world().barrier();
    start().wait();
  }
}

/// Rank 0 calls `one`, the others `other`. All must throw an Error with `parts`, and no rank may hang.
void expect_disagreement(const std::function<Handle(Stage&, Tensor&)>& one,
                         const std::function<Handle(Stage&, Tensor&)>& other, const std::vector<std::string>& parts) {
  testing::internal::CaptureStderr();
  {
    DirectStage stage(AbstractMesh({{"X", world().size()}}));
    Tensor value = in_arena(stage, Tensor::zeros(DType::f32, {100}));
    stage.engine.set_timeout(Seconds(20));
    expect_refused([&] { (stage.mesh.rank() == 0 ? one : other)(stage, value).wait(); }, parts);
    world().barrier();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("an arena was destroyed before"), std::string::npos) << said;
}

TEST(DirectProgress, RanksThatCallDifferentCollectivesAreNamed) {
  if (world().size() != 2) GTEST_SKIP() << "for two ranks";
  const auto reduce = [](ReduceOp op, Index size) {
    return [=](Stage& stage, Tensor& value) {
      Tensor some = over(value, 0, {size});
      return start_all_reduce(stage.engine, {"X"}, op, some, some, kDirect);
    };
  };
  const auto move = [](Stage& stage, Tensor& value) {
    Tensor some = over(value, 0, {5});
    Tensor rest = over(value, 5, {5});
    return start_shift(stage.engine, {"X"}, some, 1, rest, kDirect);
  };
  expect_disagreement(reduce(ReduceOp::sum, 10), move, {"all_reduce (sum) of 10 f32", "shift of 5 f32", "mesh rank"});
  expect_disagreement(reduce(ReduceOp::sum, 10), reduce(ReduceOp::max, 10), {"(sum)", "(max)"});
  expect_disagreement(reduce(ReduceOp::sum, 10), reduce(ReduceOp::sum, 11), {"of 10 f32", "of 11 f32"});
}

class DirectRefusal : public testing::Test {
 protected:
  void SetUp() override {
    if (world().size() < 2) GTEST_SKIP() << "a group of one copies";
  }
  Mesh mesh_{AbstractMesh({{"X", world().size()}}), world()};
  Engine engine_{mesh_};
  Axes axes_{"X"};
  Tensor heap_ = Tensor::zeros(DType::f32, {8});
};

TEST_F(DirectRefusal, NamesWhatIsMissing) {
  const auto reduce = [&](const Tensor& in, Tensor& out) {
    EXPECT_THROW(all_reduce(engine_, axes_, ReduceOp::sum, in, out, kDirect), UsageError);
    expect_refused([&] { all_reduce(engine_, axes_, ReduceOp::sum, in, out, kDirect); },
                   {"all_reduce over X", "direct"});
  };
  reduce(heap_, heap_);
  expect_refused([&] { all_reduce(engine_, axes_, ReduceOp::sum, heap_, heap_, kDirect); },
                 {"the engine has no arena"});
  engine_.set_arena(std::make_shared<Arena>(mesh_, 4096));
  Tensor shared = engine_.arena()->allocate(DType::f32, {8});
  reduce(heap_, shared);
  expect_refused([&] { all_reduce(engine_, axes_, ReduceOp::sum, heap_, shared, kDirect); }, {"in does not lie in"});
  expect_refused([&] { all_reduce(engine_, axes_, ReduceOp::sum, shared, heap_, kDirect); }, {"out does not lie in"});
}

TEST_F(DirectRefusal, OfAnAverageOfIntegers) {
  engine_.set_arena(std::make_shared<Arena>(mesh_, 4096));
  Tensor whole = engine_.arena()->allocate(DType::i32, {8});
  expect_refused([&] { all_reduce(engine_, axes_, ReduceOp::avg, whole, whole, kDirect); }, {"average of i32"});
}

}  // namespace
}  // namespace shardline::collectives
