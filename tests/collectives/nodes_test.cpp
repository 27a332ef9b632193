// Meshes with one axis inside the nodes and one axis between nodes.

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "tests/collectives/direct_fixture.h"

namespace shardline::collectives {
namespace {

/// An all_reduce that is checked later.
struct Reduction {
  Reduction(Stage& stage, const Axes& axes, const std::string& name, const Options& options = {})
      : out(spoiled_in_arena(stage, DType::f32, {kSize})), handle(start(stage, axes, name, options)) {}

  Handle start(Stage& stage, const Axes& axes, const std::string& name, const Options& options) {
    const Mesh& mesh = stage.mesh;
    std::vector<Tensor> arrays;
    for (const Index rank : mesh.axes().group(mesh.rank(), axes)) {
      arrays.push_back(whole_numbers(DType::f32, {kSize}, fmt::format("{} {}", name, rank)));
    }
    expected = combine(ReduceOp::sum, arrays);
    const auto position = static_cast<std::size_t>(mesh.axes().position_in_group(mesh.rank(), axes));
    return start_all_reduce(stage.engine, axes, ReduceOp::sum, in_arena(stage, arrays[position]), out, options);
  }
  void check() {
    handle.wait();
    EXPECT_TRUE(same_bits(out, expected));
  }

  static constexpr Index kSize = 30000;
  Tensor expected;
  Tensor out;
  Handle handle;
};

TEST(Nodes, DirectInsideAndSchedulesAcrossInFlightTogether) {
  const Index ranks = world().size();
  const Index inside = world().split_by_node().size();
  if (inside == 1 || inside == ranks) GTEST_SKIP() << "needs nodes of several ranks each";
  Stage stage({AbstractMesh({{"X", ranks / inside}, {"Y", inside}}), {"X", "Y"}});
  ASSERT_TRUE(stage.mesh.group({"Y"}).one_node) << "ranks are not numbered node by node";
  stage.engine.set_arena(std::make_shared<Arena>(stage.mesh, Index{8} << 20));
  for (int round = 0; round < 3; ++round) {
    std::vector<Reduction> all;
    all.reserve(4);
    all.emplace_back(stage, Axes{"X"}, "across");
    all.emplace_back(stage, Axes{"Y"}, "inside");
    all.emplace_back(stage, Axes{"X", "Y"}, "everywhere");
    all.emplace_back(stage, Axes{"X"}, "across by ring", Options{.algorithm = Algorithm::ring});
    EXPECT_EQ(all[0].handle.algorithm(), Algorithm::bidirectional);
    EXPECT_EQ(all[1].handle.algorithm(), Algorithm::direct);
    EXPECT_EQ(all[2].handle.algorithm(), Algorithm::bidirectional);
    EXPECT_EQ(all[3].handle.algorithm(), Algorithm::ring);
    for (std::size_t k = 0; k < all.size(); ++k) {
      all[(k + static_cast<std::size_t>(stage.mesh.rank() + round)) % all.size()].check();
    }
  }
}

}  // namespace
}  // namespace shardline::collectives
