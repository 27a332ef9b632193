// Casts that ranks run on their blocks, with collectives in the narrow and in the wide type.

#include "program/ops/cast.h"

#include <gtest/gtest.h>

#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/run/execute.h"
#include "runtime/layout/blocks.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

constexpr Index kRows = 5, kColumns = 3;

/// Numbers that bf16 must round.
double value(Index i) { return static_cast<double>(i) + 1.0 / 300; }

/// The array after a cast to bf16 and back, from rows on each rank to whole rows or columns everywhere.
TEST(CastRun, RoundsOnceWhereverTheArrayLies) {
  const Index ranks = mpi::Communicator::world().size();
  const Mesh mesh(AbstractMesh({{"X", ranks}}), mpi::Communicator::world());
  collectives::Engine engine(mesh);
  Program p;
  p.sizes = {{"I", kRows}, {"J", kColumns}};
  const ArrayId x = p.add_input("x", {"I", "J"}, Role::activation);
  const ArrayId narrow = cast(p, "n", x, DType::bf16);
  const ArrayId wide = cast(p, "w", narrow, DType::f32);
  p.outputs = {narrow, wide};
  const Sharding rows = Sharding{.dims = {{"X"}, {}}, .unreduced = {}};
  const Sharding whole = Sharding::replicated(2);
  RankProgram program =
      partition(p, mesh.axes(), {.layouts = {{x, rows}, {narrow, whole}, {wide, rows}}, .work = {}, .policy = {}});
  check(program);
  Executor executor(compile(std::move(program), {}), engine);
  const ArraySpec spec{
      .name = "x", .dims = {"I", "J"}, .shape = {kRows, kColumns}, .sharding = rows, .dtype = DType::f32};
  executor.set(x, DistTensor::make(mesh, spec, value).local());
  executor.run();

  const Tensor all = executor.get(narrow);
  ASSERT_EQ(all.dtype(), DType::bf16);
  ASSERT_EQ(all.size(), kRows * kColumns);
  for (Index i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all.view<BFloat16>()[i], BFloat16(static_cast<float>(value(i)))) << i;
  }
  const Tensor own = executor.get(wide);
  const Range mine = box({kRows, kColumns}, rows, mesh.axes(), mesh.rank())[0];
  ASSERT_EQ(own.size(), mine.size() * kColumns);
  for (Index i = 0; i < own.size(); ++i) {
    const auto rounded = BFloat16(static_cast<float>(value(mine.begin * kColumns + i)));
    EXPECT_EQ(own.view<float>()[i], static_cast<float>(rounded)) << i;
  }
}

}  // namespace
}  // namespace shardline
