// A product that is fused with a gather adds up panel by panel. Where another step reads the gathered array too, it
// runs alone, in the same panels.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "program/ops/einsum.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/plan/choose_fusions.h"
#include "program/run/execute.h"
#include "runtime/layout/blocks.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

constexpr Index kRows = 6, kSum = 301, kColumns = 5;

/// C[I_X, K] = A[I_X, J] W[J, K], with W gathered over J. If `shared`, a product that cannot be fused reads it first:
/// D[I_X, K] = A2[I_X, J] W[J, K] V[K].
Program products(bool shared) {
  Program p;
  p.sizes = {{"I", kRows}, {"J", kSum}, {"K", kColumns}};
  const ArrayId a = p.add_input("A", {"I", "J"}, Role::activation);
  const ArrayId w = p.add_input("W", {"J", "K"}, Role::activation);
  if (shared) {
    const ArrayId a2 = p.add_input("A2", {"I", "J"}, Role::activation);
    p.outputs = {einsum(p, "D", {a2, w, p.add_input("V", {"K"}, Role::activation)}, {"I", "K"})};
  }
  p.outputs.push_back(einsum(p, "C", {a, w}, {"I", "K"}));
  return p;
}

class Alone : public testing::Test {
 protected:
  Mesh mesh{AbstractMesh({{"X", mpi::Communicator::world().size()}}), mpi::Communicator::world()};
  collectives::Engine engine{mesh};
  roofline::Hardware prices = bandwidth_bound(mesh.axes());
  ScheduleOptions always{.fuse = ScheduleOptions::Fuse::always, .panel = Flops(2e3)};

  RankProgram partitioned(bool shared) const {
    const Program p = products(shared);
    std::map<ArrayId, Sharding> layouts;
    for (const ArrayId array : p.inputs) {
      layouts[array] =
          p.array(array).dims.size() == 1 ? Sharding::replicated(1) : Sharding{.dims = {{"X"}, {}}, .unreduced = {}};
    }
    for (const ArrayId array : p.outputs) layouts[array] = Sharding{.dims = {{"X"}, {}}, .unreduced = {}};
    RankProgram program = partition(p, mesh.axes(), {.layouts = layouts, .work = {}, .policy = {}});
    check(program);
    return program;
  }

  std::shared_ptr<Compiled> compiled(bool shared, const std::optional<Fusions>& fusions) const {
    return compile(partitioned(shared), {.scheduling = always, .fusions = fusions, .prices = prices});
  }

  /// This rank's block of C.
  Tensor result_of(const std::shared_ptr<const Compiled>& compiled) {
    Executor executor(compiled, engine);
    const RankProgram& program = compiled->program();
    for (const ArrayId input : program.program.inputs) {
      const Array& array = program.program.array(input);
      const ArraySpec spec{.name = array.name,
                           .dims = array.dims,
                           .shape = array.shape,
                           .sharding = program.declared.at(input),
                           .dtype = DType::f32};
      const auto value = [](Index i) { return std::sin(static_cast<double>(i) * 0.7); };
      executor.set(input, DistTensor::make(mesh, spec, value).local());
    }
    executor.run();
    return executor.get(program.program.find("C")).clone();
  }

  static bool same(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
  }
};

TEST_F(Alone, HasTheBitsOfTheFusedProduct) {
  if (mesh.ranks() == 1) GTEST_SKIP() << "one rank gathers nothing";
  const auto fused = compiled(false, {});
  ASSERT_EQ(fused->schedule().fusions.size(), 1U);
  const Fusions carried = choose_fusions(fused->program(), prices, always);
  const auto shared = compiled(true, carried);
  ASSERT_TRUE(shared->schedule().fusions.empty()) << "a product that cannot be fused reads it first";
  ASSERT_EQ(shared->schedule().alone.size(), 1U);
  const Tensor expected = result_of(fused);
  EXPECT_TRUE(same(result_of(shared), expected));

  const auto uncarried = compiled(true, {});
  ASSERT_TRUE(uncarried->schedule().alone.empty());
  const double differs = same(result_of(uncarried), expected) ? 0 : 1;
  EXPECT_EQ(mesh.comm().max(differs), 1) << "the sums of this test do not depend on the panels";
}

TEST_F(Alone, AChoiceIsCarriedByName) {
  if (mesh.ranks() == 1) GTEST_SKIP() << "one rank gathers nothing";
  const Fusions carried = choose_fusions(partitioned(false), prices, always);
  ASSERT_EQ(carried.products.size(), 1U);
  EXPECT_EQ(carried.products.begin()->first, "C");
  EXPECT_EQ(carried.products.at("C").axes, Axes{"X"});
  EXPECT_TRUE(compiled(false, Fusions{})->schedule().fusions.empty()) << "nothing else may be fused";
}

}  // namespace
}  // namespace shardline
