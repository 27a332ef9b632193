#include "collectives/reshard.h"

#include <gtest/gtest.h>

#include "tests/collectives/fixture.h"
#include "tests/collectives/shardings.h"

namespace shardline::collectives {
namespace {

AbstractMesh mesh_of_job() {
  const Index ranks = world().size();
  return ranks % 2 == 0 && ranks > 2 ? AbstractMesh({{"X", 2}, {"Y", ranks / 2}}) : AbstractMesh({{"X", ranks}});
}

TEST(Reshard, BetweenAllPairsOfShardings) {
  const Mesh mesh(mesh_of_job(), world());
  Engine engine(mesh);
  const std::vector<Sharding> shardings = all_shardings(2, mesh.axes().axes());
  const Shape shape{5, 7};
  std::size_t pair = 0;
  for (const Sharding& from : shardings) {
    for (const Sharding& to : shardings) {
      const DType dtype = kAllDTypes[pair++ % 5];
      const Tensor logical = whole_numbers(dtype, shape, "resharded");
      const Tensor in = logical.slice(box(shape, from, mesh.axes(), mesh.rank()));
      const Tensor expected = logical.slice(box(shape, to, mesh.axes(), mesh.rank()));
      for (const Options& options : reshard_options()) {
        Tensor out = spoiled(dtype, expected.shape());
        reshard(engine, in, shape, from, to, out, options);
        ASSERT_TRUE(same_bits(out, expected))
            << to_string("A", {"I", "J"}, from) << " to " << to_string("A", {"I", "J"}, to) << " " << describe(options);
      }
    }
  }
}

TEST(Reshard, LeavesWhatIsOwedAlone) {
  if (world().size() != 4 && world().size() != 6) GTEST_SKIP() << "needs two axes";
  const Mesh mesh(mesh_of_job(), world());
  Engine engine(mesh);
  const Sharding from{{{"X"}, {}, {}}, {"Y"}};
  const Sharding to{{{}, {}, {"X"}}, {"Y"}};
  const Shape shape{3, 2, 5};
  const std::string mine = fmt::format("partial {}", mesh.coordinates()[1]);
  const Tensor logical = whole_numbers(DType::f32, shape, mine);
  Tensor out = spoiled(DType::f32, local_shape(shape, to, mesh.axes(), mesh.rank()));
  reshard(engine, logical.slice(box(shape, from, mesh.axes(), mesh.rank())), shape, from, to, out);
  EXPECT_TRUE(same_bits(out, logical.slice(box(shape, to, mesh.axes(), mesh.rank()))));
}

TEST(Reshard, OfAScalarOrNothingMovesNothing) {
  const Mesh mesh(mesh_of_job(), world());
  Engine engine(mesh);
  const Tensor scalar = whole_numbers(DType::f64, {}, "scalar");
  Tensor out = spoiled(DType::f64, {});
  Handle handle = start_reshard(engine, scalar, {}, {}, {}, out);
  handle.wait();
  EXPECT_TRUE(same_bits(out, scalar));
  EXPECT_EQ(handle.wire_bytes(), 0);

  Tensor empty(DType::f64, {0, 3});
  const Sharding split{{{"X"}, {}}, {}};
  const Sharding split_other{{{}, {"X"}}, {}};
  Tensor result(DType::f64, local_shape({0, 3}, split_other, mesh.axes(), mesh.rank()));
  reshard(engine, empty, {0, 3}, split, split_other, result);
}

}  // namespace
}  // namespace shardline::collectives
