#include "collectives/run/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "collectives/collectives.h"
#include "collectives/schedule/traffic.h"
#include "runtime/base/check.h"
#include "tests/collectives/fixture.h"

namespace shardline::collectives {
namespace {

/// An all_reduce over some axes and its expected sum.
struct Pending {
  Pending(Engine& engine, const Axes& axes, Index size, const std::string& name)
      : out(DType::f32, {size}), expected(DType::f32, {size}), handle(start(engine, axes, size, name)) {}

  Handle start(Engine& engine, const Axes& axes, Index size, const std::string& name) {
    const Mesh& mesh = engine.mesh();
    std::vector<Tensor> arrays;
    for (const Index rank : mesh.axes().group(mesh.rank(), axes)) {
      arrays.push_back(whole_numbers(DType::f32, {size}, fmt::format("{} {}", name, rank)));
    }
    expected = combine(ReduceOp::sum, arrays);
    // The operand's handle ends here: the run must share ownership of its buffers.
    const Tensor in = arrays[static_cast<std::size_t>(mesh.axes().position_in_group(mesh.rank(), axes))];
    return start_all_reduce(engine, axes, ReduceOp::sum, in, out);
  }
  void check() {
    handle.wait();
    EXPECT_TRUE(same_bits(out, expected));
  }

  Tensor out;
  Tensor expected;
  Handle handle;
};

/// Larger than any MPI's eager messages.
constexpr Index kLarge = 50000;

TEST(Progress, ManyInFlightWaitedForInAnotherOrderOnEveryRank) {
  const Mesh mesh(two_axes(), world());
  Engine engine(mesh);
  std::vector<Pending> pending;
  pending.reserve(9);
  for (int round = 0; round < 3; ++round) {
    for (const Axes& axes : {Axes{"X"}, Axes{"Y"}, Axes{"Y", "X"}}) {
      pending.emplace_back(engine, axes, round == 1 ? 5 : kLarge, fmt::format("round {}", round));
    }
  }
  for (std::size_t k = 0; k < pending.size(); ++k) {
    pending[(k * 4 + static_cast<std::size_t>(mesh.rank())) % pending.size()].check();
  }
  EXPECT_EQ(engine.in_flight(), 0);
}

/// While nothing is received, the oldest run hands over its window and the younger ones hardly anything.
TEST(Progress, TheOldestSendsFirst) {
  const Mesh mesh(two_axes(), world());
  Engine engine(mesh);
  const Axes axes{"X", "Y"};
  const Index p = mesh.ranks();
  constexpr Index kWords = Index{1} << 20;  // 4 MB for each rank
  constexpr std::size_t kRuns = 6;
  std::vector<Tensor> in, out;
  for (std::size_t k = 0; k < kRuns; ++k) {
    in.push_back(whole_numbers(DType::f32, {kWords}, fmt::format("run {} of rank {}", k, mesh.rank())));
    out.emplace_back(DType::f32, Shape{kWords * p});
  }
  std::vector<Handle> handles;
  const auto start_all = [&] {
    for (std::size_t k = 0; k < kRuns; ++k) {
      handles.push_back(start_all_gather(engine, axes, in[k], 0, out[k], {.algorithm = Algorithm::ring}));
    }
  };
  Tensor one = whole_numbers(DType::f32, {1}, "one");
  all_reduce(engine, axes, ReduceOp::sum, one, one);  // makes the communicator: all ranks must take part
  if (mesh.rank() == 0) {
    start_all();
    for (int i = 0; i < 10; ++i) engine.poll();
    Index younger = 0;
    for (std::size_t k = 1; k < kRuns; ++k) younger += handles[k].wire_bytes();
    if (p > 1) {
      // Sockets may take messages that nobody receives yet. Then the oldest run hands over its whole block first.
      const Index oldest = handles[0].wire_bytes();
      EXPECT_GT(oldest, 0);
      EXPECT_TRUE(younger <= Index{1} << 20 || oldest == kWords * 4) << younger << " bytes, the oldest " << oldest;
    }
  }
  mesh.comm().barrier();
  if (mesh.rank() != 0) start_all();
  for (std::size_t k = 0; k < kRuns; ++k) {
    handles[k].wait();
    for (Index rank = 0; rank < p; ++rank) {
      const Tensor expected = whole_numbers(DType::f32, {kWords}, fmt::format("run {} of rank {}", k, rank));
      EXPECT_TRUE(same_bits(out[k].slice({{kWords * rank, kWords * (rank + 1)}}), expected)) << k << " " << rank;
    }
  }
}

TEST(Progress, TwoMeshesOverTheSameRanksWaitedForCrosswise) {
  const Mesh mesh(two_axes(), world());
  const Mesh flat(AbstractMesh({{"X", world().size()}}), world());
  Engine engine(mesh);
  Engine flat_engine(flat);
  Pending one(engine, {"X", "Y"}, kLarge, "one");
  Pending other(flat_engine, {"X"}, kLarge, "other");
  const bool even = mesh.rank() % 2 == 0;
  (even ? one : other).check();
  (even ? other : one).check();
}

TEST(Progress, ThousandsOfSmallOperations) {
  const Mesh mesh(two_axes(), world());
  Engine engine(mesh);
  const Axes axes{"X", "Y"};
  const Index p = mesh.ranks();
  const Index operations = p <= 2 ? 10000 : 1000;  // more ranks may share cores
  for (Index k = 0; k < operations; ++k) {
    Tensor value(DType::i32, {3});
    for (Index i = 0; i < 3; ++i) value.view<std::int32_t>()[i] = static_cast<std::int32_t>(mesh.rank() * i + k);
    all_reduce(engine, axes, ReduceOp::sum, value, value);
    for (Index i = 0; i < 3; ++i) ASSERT_EQ(value.view<std::int32_t>()[i], p * (p - 1) / 2 * i + k * p);
  }
}

TEST(Progress, PollAloneFinishes) {
  const Mesh mesh(two_axes(), world());
  Engine engine(mesh);
  Pending pending(engine, {"X", "Y"}, kLarge, "polled");
  while (engine.in_flight() > 0) engine.poll();
  EXPECT_TRUE(pending.handle.done());
  pending.check();
}

void expect_counts(Stage& stage, Algorithm algorithm) {
  const Index p = stage.positions();
  const Index n = 10 * p + 3;
  std::vector<Index> sizes;
  for (const Axis& axis : stage.axes) {
    if (stage.mesh.axes().size(axis) > 1) sizes.push_back(stage.mesh.axes().size(axis));
  }
  const auto busiest = [](Handle handle) {
    handle.wait();
    return static_cast<Index>(world().max(static_cast<double>(handle.wire_bytes())));
  };
  const auto predicted = [&](Kind kind, Index elements) {
    return traffic(kind, algorithm, sizes, elements, {4, 4}).wire_bytes;
  };
  const Options options{.algorithm = algorithm};
  const Tensor whole = whole_numbers(DType::f32, {n}, "counted");
  const Tensor block = whole.slice({stage.block(n)});
  Tensor out(DType::f32, {n});
  Tensor block_out(DType::f32, block.shape());
  // The two-axis cases have nested blocks, which traffic() does not know from the number of elements.
  if (stage.axes.size() == 1) {
    EXPECT_EQ(busiest(start_all_gather(stage.engine, stage.axes, block, 0, out, options)),
              predicted(Kind::all_gather, n));
    EXPECT_EQ(busiest(start_reduce_scatter(stage.engine, stage.axes, ReduceOp::sum, whole, 0, block_out, options)),
              predicted(Kind::reduce_scatter, n));
  }
  EXPECT_EQ(busiest(start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, whole, out, options)),
            predicted(Kind::all_reduce, n));
  // In bf16 partial sums may be wider than other elements.
  const Tensor narrow = whole_numbers(DType::bf16, {n}, "counted");
  Tensor narrow_out(DType::bf16, {n});
  Handle rounded = start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, narrow, narrow_out, options);
  const ElementSizes rounded_sizes = element_sizes(DType::bf16, rounded.wire());
  EXPECT_EQ(busiest(std::move(rounded)), traffic(Kind::all_reduce, algorithm, sizes, n, rounded_sizes).wire_bytes);
  const Tensor square_in = whole_numbers(DType::f32, {5, 2 * p}, "exchanged");
  Tensor square_out(DType::f32, {5 * p, 2});
  EXPECT_EQ(busiest(start_all_to_all(stage.engine, stage.axes, square_in, 0, 1, square_out, options)),
            predicted(Kind::all_to_all, square_in.size()));
}

TEST(Progress, CountsTheBytesThatTrafficPredicts) {
  for_each_mesh([](Stage& stage) {
    for (const Algorithm algorithm :
         {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise, Algorithm::doubling}) {
      SCOPED_TRACE(name_of(algorithm));
      expect_counts(stage, algorithm);
    }
    const Tensor whole = whole_numbers(DType::f32, {13}, "counted");
    Tensor out(DType::f32, {13});
    Handle handle = start_shift(stage.engine, stage.axes, whole, 1, out);
    handle.wait();
    EXPECT_EQ(handle.wire_bytes(), stage.positions() == 1 ? 0 : whole.bytes());
  });
}

TEST(Progress, NamesThePeerThatDoesNotComeAndGoesOnWhenItDoes) {
  if (world().size() < 2) GTEST_SKIP() << "needs a peer";
  const Mesh mesh(AbstractMesh({{"X", world().size()}}), world());
  Engine engine(mesh);
  engine.set_timeout(Seconds(0.05));
  mesh.group({"X"});  // itself a collective call
  Tensor value = Tensor::zeros(DType::f32, {100});
  const auto start = [&] {
    return start_all_reduce(engine, {"X"}, ReduceOp::sum, value, value, {.algorithm = Algorithm::ring});
  };
  if (mesh.rank() == 0) {
    Handle handle = start();
    std::string message;
    try {
      handle.wait();
    } catch (const Error& error) {
      message = error.what();
    }
    for (const std::string& part : {std::string("all_reduce over X (tag "), std::string("nothing has moved for 50"),
                                    std::string("receive from"), fmt::format("mesh rank {}", world().size() - 1)}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
    }
    world().barrier();
    engine.set_timeout(Seconds(60));
    handle.wait();
  } else {
    world().barrier();
    engine.set_timeout(Seconds(60));
    start().wait();
  }
}

TEST(Progress, SaysThatAHandleWasDropped) {
#ifdef NDEBUG
  const Mesh mesh(AbstractMesh({{"X", world().size()}}), world());
  Engine engine(mesh);
  Tensor value = Tensor::zeros(DType::f32, {4});
  testing::internal::CaptureStderr();
  { const Handle handle = start_all_reduce(engine, {"X"}, ReduceOp::sum, value, value); }
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("all_reduce over"), std::string::npos) << message;
  EXPECT_NE(message.find("without wait()"), std::string::npos) << message;
  while (engine.in_flight() > 0) engine.poll();
#else
  GTEST_SKIP() << "aborts in a debug build";
#endif
}

}  // namespace
}  // namespace shardline::collectives
