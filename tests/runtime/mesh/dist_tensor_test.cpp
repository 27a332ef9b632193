#include "runtime/mesh/dist_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/layout/notation.h"
#include "tests/runtime/message_limit.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

using mpi::Communicator;

/// A mesh of two axes over the ranks of the job: 2 by 2 on four ranks, otherwise all ranks on Y.
AbstractMesh axes_of(const Communicator& world) {
  return world.size() == 4 ? AbstractMesh({{"X", 2}, {"Y", 2}}) : AbstractMesh({{"X", 1}, {"Y", world.size()}});
}

ArraySpec spec(const std::string& text, Shape shape, DType dtype = DType::f32) {
  ParsedArray array = parse_array(text);
  return {array.name, array.dims, std::move(shape), array.sharding, dtype};
}

double element(Index i) { return static_cast<double>(i) - 3; }

void expect_whole(const Mesh& mesh, const std::string& text, const Shape& shape, DType dtype) {
  const Tensor whole = DistTensor::make(mesh, spec(text, shape, dtype), element).gather();
  ASSERT_EQ(whole.shape(), shape) << text;
  ASSERT_EQ(whole.dtype(), dtype) << text;
  for (Index i = 0; i < whole.size(); ++i) {
    const double value = dtype == DType::i32 ? static_cast<double>(whole.view<std::int32_t>()[i])
                                             : whole.as(DType::f64).view<double>()[i];
    EXPECT_EQ(value, element(i)) << text << " of " << to_string(shape) << " at " << i;
  }
}

TEST(DistTensor, EveryShardingGathersToTheWhole) {
  const Communicator world = Communicator::world();
  const Mesh mesh(axes_of(world), world);
  for (const char* text : {"A[I, J]", "A[I_X, J]", "A[I_Y, J_X]", "A[I_XY, J]", "A[I, J_YX]", "A[I_Y, J]{U_X}",
                           "A[I, J]{U_XY}", "A[I_X, J]{Max_Y}"}) {
    for (const Shape& shape : {Shape{5, 7}, Shape{2, 1}, Shape{0, 3}}) expect_whole(mesh, text, shape, DType::f32);
  }
}

TEST(DistTensor, EveryElementTypeGathers) {
  const Communicator world = Communicator::world();
  const Mesh mesh(axes_of(world), world);
  for (const DType dtype : {DType::f64, DType::bf16, DType::i32}) {
    for (const char* text : {"A[I_Y, J_X]", "A[I_X, J]{U_Y}", "A[I, J]{Max_XY}"})
      expect_whole(mesh, text, {5, 7}, dtype);
  }
}

TEST(DistTensor, HoldsItsBlock) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  const DistTensor rows = DistTensor::make(mesh, spec("A[I_X, J]", {2, 3}), element);
  const Index held = world.size() == 1 ? 2 : world.rank() < 2 ? 1 : 0;
  EXPECT_EQ(rows.local().shape(), (Shape{held, 3}));
  if (held > 0) {
    EXPECT_EQ(rows.local().view<float>()[1], static_cast<float>(world.rank() * 3 + 1 - 3));
  }
  EXPECT_EQ(rows.to_string(), "A[I_X, J]");
}

TEST(DistTensor, OwedPartsAddNothingOffTheOrigin) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  const Tensor sum = DistTensor::make(mesh, spec("A[]{U_X}", {}), [](Index) { return 4.0; }).local();
  const Tensor max = DistTensor::make(mesh, spec("A[]{Max_X}", {}), [](Index) { return 4.0; }).local();
  EXPECT_EQ(sum.view<float>()[0], world.rank() == 0 ? 4 : 0);
  EXPECT_EQ(max.view<float>()[0], world.rank() == 0 ? 4 : -std::numeric_limits<float>::infinity());
}

TEST(DistTensor, OwedSumsAddInTheOrderOfTheCoordinates) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  // 2^25 + 1 + 1 + ...: in f32 this order loses every 1. Another order would keep some.
  Tensor local(DType::f32, {1});
  local.view<float>()[0] = world.rank() == 0 ? 0x1.0p25F : 1.0F;
  const DistTensor owed = DistTensor::from_local(mesh, spec("A[I]{U_X}", {1}), local);
  EXPECT_EQ(owed.gather().view<float>()[0], 0x1.0p25F);
  // bf16 has 8 bits: 256 + 1 + 1 is 258 if the sum is in f32, and 256 if every step rounds.
  Tensor half(DType::bf16, {1});
  half.view<BFloat16>()[0] = BFloat16(world.rank() == 0 ? 256.0F : 1.0F);
  const Tensor sum = DistTensor::from_local(mesh, spec("A[I]{U_X}", {1}, DType::bf16), half).gather();
  EXPECT_EQ(sum.view<BFloat16>()[0], BFloat16(256.0F + static_cast<float>(world.size() - 1)));
}

TEST(DistTensor, GathersMoreThanOneMessageHolds) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  const ScopedMessageLimit limit(13);
  const Tensor whole = DistTensor::make(mesh, spec("A[I_X]", {101}, DType::f64), element).gather();
  for (Index i = 0; i < 101; ++i) EXPECT_EQ(whole.view<double>()[i], element(i));
}

TEST(DistTensor, RefusesALocalBlockOfAnotherShape) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  try {
    DistTensor::from_local(mesh, spec("A[I_X, J]", {world.size(), 3}), Tensor(DType::f32, {2, 3}));
    FAIL() << "a block of two rows was taken";
  } catch (const Error& error) {
    const std::string expected = "array A[I_X, J] of f32 [" + std::to_string(world.size()) +
                                 ", 3] on mesh {X:" + std::to_string(world.size()) + "}: rank " +
                                 std::to_string(world.rank()) + " gives a block of f32 [2, 3], it holds [1, 3]";
    EXPECT_EQ(std::string(error.what()).substr(0, expected.size()), expected);
  }
  EXPECT_THROW(DistTensor::from_local(mesh, spec("A[I]", {3}), Tensor(DType::f64, {3})), Error);
}

TEST(DistTensor, RefusesShardingsThatAreNotLegal) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  EXPECT_EQ(usage_message([&] { DistTensor::make(mesh, spec("A[I, J]", {3}), element); }),
            "array A has 2 dims and shape [3]");
  EXPECT_NE(usage_message([&] { DistTensor::make(mesh, spec("A[I_Q]", {3}), element); }), "nothing was refused");
}

TEST(DistTensor, ReplicasThatDifferAreNamed) {
  const Communicator world = Communicator::world();
  if (world.size() == 1) return;
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  DistTensor array = DistTensor::make(mesh, spec("A[I]", {3}), element);
  if (world.rank() == world.size() - 1) array.local().view<float>()[2] += 1;
  try {
    static_cast<void>(array.gather());
    FAIL() << "replicas that differ were gathered";
  } catch (const Error& error) {
    const std::string expected = "ranks 0 and " + std::to_string(world.size() - 1) + " should hold the same bits";
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shardline
