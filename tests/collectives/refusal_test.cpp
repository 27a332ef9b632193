// Illegal arguments throw with a message that names them. Every rank makes the same mistake, so no rank hangs.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/native/native.h"
#include "runtime/base/check.h"
#include "tests/collectives/fixture.h"

namespace shardline::collectives {
namespace {

class Refusal : public testing::Test {
 protected:
  Index p = world().size();
  Mesh mesh{AbstractMesh({{"X", p}}), world()};
  Engine engine{mesh};
  Axes axes{"X"};
  Tensor block{DType::f32, {2, 3}};
  Tensor whole{DType::f32, {2 * p, 3}};
};

TEST_F(Refusal, OfShapesNamesBothAndTheDim) {
  Tensor wrong(DType::f32, {2 * p + p, 3});
  expect_refused([&] { all_gather(engine, axes, block, 0, wrong); }, {"all_gather", "in is [2, 3]", "dim 0 must be 3"});
  expect_refused([&] { reduce_scatter(engine, axes, ReduceOp::sum, wrong, 0, block); },
                 {"reduce_scatter", "out is [2, 3]", "dim 0 must be 3, not 2"});
  Tensor other(DType::f32, {2 * p, 4});
  expect_refused([&] { all_gather(engine, axes, block, 0, other); }, {"[2, 3]", "agree in dim 1"});
  expect_refused([&] { all_gather(engine, axes, block, 2, whole); }, {"there is no dim 2"});
  expect_refused([&] { all_reduce(engine, axes, ReduceOp::sum, whole, other); }, {"all_reduce", "agree in dim 1"});
  Tensor flat(DType::f32, {6 * p});
  expect_refused([&] { all_gather(engine, axes, block, 0, flat); }, {"same number of dims"});
  Tensor grid_in(DType::f32, {1, p + 1});
  Tensor grid_out(DType::f32, {p, 3});
  expect_refused([&] { all_to_all(engine, axes, grid_in, 0, 1, grid_out); }, {"all_to_all", "out is", "dim 1 must be"});
  expect_refused([&] { all_to_all(engine, axes, grid_in, 1, 1, grid_out); }, {"all_to_all", "dim"});
  expect_refused([&] { shift(engine, axes, block, p, whole = Tensor(DType::f32, {2 * p + 1, 3})); }, {"agree in dim"});
  expect_refused(
      [&] {
        reshard(engine, block, {2 * p + p, 3}, {{{"X"}, {}}, {}}, {{{}, {}}, {}}, wrong);
      },
      {"reshard", "in is [2, 3]", "it must be [3, 3]"});
}

TEST_F(Refusal, OfElementTypesAndOverlap) {
  Tensor doubles(DType::f64, whole.shape());
  expect_refused([&] { all_gather(engine, axes, block, 0, doubles); }, {"in is f32, out is f64"});
  // The two tensors overlap by half: they are neither separate nor the same.
  const auto memory = std::make_shared<Tensor>(DType::f32, Shape{30});
  const Tensor low(DType::f32, {20}, {memory, memory->data()});
  Tensor high(DType::f32, {20}, {memory, memory->data() + 40});
  expect_refused([&] { shift(engine, axes, low, 1, high); }, {"shift", "overlap", "the same or apart"});
  expect_refused([&] { all_reduce(engine, axes, ReduceOp::sum, low, high); }, {"all_reduce", "overlap"});
  Tensor gathered(DType::f32, {p}, {memory, memory->data()});
  const Tensor misplaced(DType::f32, {1}, {memory, memory->data() + 4 * ((mesh.rank() + 1) % p)});
  if (p > 1) {
    expect_refused([&] { all_gather(engine, axes, misplaced, 0, gathered); }, {"all_gather", "this position's block"});
  }
}

TEST_F(Refusal, OfAxesAndOptions) {
  EXPECT_THROW(all_gather(engine, {"Q"}, block, 0, whole), UsageError);
  expect_refused([&] { all_gather(engine, {"Q"}, block, 0, whole); }, {"Q", "X"});
  EXPECT_THROW(
      all_reduce(engine, axes, ReduceOp::sum, whole, whole, {.algorithm = Algorithm::ring, .segment_bytes = -1}),
      UsageError);
  if (p > 1) {
    EXPECT_THROW(all_gather(engine, {"X", "X"}, block, 0, whole), UsageError);
  }
}

TEST_F(Refusal, OfWhatMpiCannotDoNatively) {
  if (p == 1) GTEST_SKIP() << "a group of one calls no MPI";
  Tensor bf16(DType::bf16, {4});
  expect_refused([&] { all_reduce(engine, axes, ReduceOp::sum, bf16, bf16, {.algorithm = Algorithm::native}); },
                 {"all_reduce", "native", "bf16"});
  Job job;
  job.name = "all_reduce";
  expect_refused([&] { start_native_all_reduce(engine, job, Index{1} << 31); }, {"2147483647", "2147483648"});
}

TEST_F(Refusal, OfWhatAnAlgorithmDoesNotHave) {
  Tensor integers = Tensor::zeros(DType::i64, {4});
  expect_refused([&] { all_reduce(engine, axes, ReduceOp::avg, integers, integers); }, {"average", "i64", "bf16"});
  if (p == 1) GTEST_SKIP() << "a group of one has nothing to move";
  Tensor bf16(DType::bf16, {4});
  const auto reduce = [&](Algorithm algorithm, Wire wire) {
    all_reduce(engine, axes, ReduceOp::sum, bf16, bf16, {.algorithm = algorithm, .wire = wire});
  };
  expect_refused([&] { reduce(Algorithm::ring, Wire::exchange); }, {"ring", "f32 and hop", "exchange"});
  expect_refused([&] { reduce(Algorithm::pairwise, Wire::hop); }, {"pairwise", "exchange", "hop"});
  Tensor other(DType::f32, whole.shape());
  expect_refused([&] { shift(engine, axes, whole, 1, other, {.algorithm = Algorithm::doubling}); },
                 {"shift", "doubling", "ring"});
  expect_refused(
      [&] {
        reshard(engine, whole, whole.shape(), Sharding::replicated(2), {{{"X"}, {}}, {}}, block,
                {.algorithm = Algorithm::ring});
      },
      {"reshard", "ring", "pairwise and native"});
}

TEST(Failure, OfAMessageOfAnotherSizeNamesTheOperationAndStays) {
  if (world().size() < 2) GTEST_SKIP() << "needs a peer";
  const Mesh mesh(AbstractMesh({{"X", world().size()}}), world());
  testing::internal::CaptureStderr();
  {
    Engine engine(mesh);
    // Every rank gets two elements but expects three.
    const Tensor in = Tensor::zeros(DType::f32, {2});
    Tensor out(DType::f32, {3});
    expect_refused([&] { shift(engine, {"X"}, in, 1, out); },
                   {"shift over X", "position", "8 bytes", "12 were expected"});
    EXPECT_THROW(engine.poll(), Error);
    world().barrier();  // the messages to others are complete
  }
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("an engine was destroyed with shift over X"), std::string::npos) << message;
}

}  // namespace
}  // namespace shardline::collectives
