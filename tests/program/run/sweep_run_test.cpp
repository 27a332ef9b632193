// What a kernel gets in a sweep: the right part of every array, and the right positions.
#include "program/run/sweep_run.h"

#include <gtest/gtest.h>

#include "program/ops/builder.h"
#include "program/ops/cast.h"
#include "program/ops/embed.h"
#include "program/ops/gelu.h"
#include "program/ops/squared_error.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/run/execute.h"
#include "program/transform/differentiate.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

/// y = 10 x + the position of the row in the whole array.
constexpr Kernel kPlace{
    .name = "place",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          const View<const double> x = arrays.operands[0]->view<double>();
          const View<double> y = arrays.results[0]->view<double>();
          const Range b = block.range("B"), t = block.range("T");
          const Index d = block.range("D").size();
          ASSERT_EQ(x.shape, (Shape{b.size(), t.size(), d}));
          for (Index i = 0; i < x.size(); ++i) {
            const Index row = i / d;
            const Index position = (b.begin + row / t.size()) * block.operation.extents[1] + t.begin + row % t.size();
            y[i] = 10 * x[i] + static_cast<double>(position);
          }
        },
    .cost = [](const PhaseBlock&) { return kernels::Cost{}; },
    .strips = true,
};

ArrayId place(Program& p, const std::string& name, ArrayId x) {
  const ArrayId y = add_like(p, name, x);
  Builder(p, "place").phase(kPlace, {x}, {y}).append({x}, {y});
  return y;
}

class SweepRunTest : public testing::Test {
 protected:
  Mesh mesh_{AbstractMesh({{"X", mpi::Communicator::world().size()}}), mpi::Communicator::world()};
  collectives::Engine engine_{mesh_};

  /// z = place(place(x)) with T split over all ranks.
  void expect_places(Index tokens, Index strip_bytes) {
    Program p;
    p.dtype = DType::f64;
    p.sizes = {{"B", 3}, {"T", tokens}, {"D", 2}};
    const ArrayId x = p.add_input("x", {"B", "T", "D"}, Role::activation);
    const ArrayId z = place(p, "z", place(p, "y", x));
    p.outputs = {z};
    const Sharding split{.dims = {{}, {"X"}, {}}, .unreduced = {}};
    const RankProgram program =
        partition(p, mesh_.axes(), {.layouts = {{x, split}, {z, split}}, .work = {{"X", {"T"}}}, .policy = {}});
    const auto compiled =
        compile(program, {.scheduling = {{.strip_bytes = strip_bytes}}, .prices = bandwidth_bound(mesh_.axes())});
    ASSERT_EQ(compiled->schedule().actions.size(), 1U);
    EXPECT_EQ(compiled->schedule().actions[0].kind, ActionKind::sweep);
    Executor executor(compiled, engine_);
    const ArraySpec spec{
        .name = "x", .dims = {"B", "T", "D"}, .shape = {3, tokens, 2}, .sharding = split, .dtype = DType::f64};
    executor.set(x, DistTensor::make(mesh_, spec, [](Index i) { return static_cast<double>(i); }).local());
    executor.run();
    ASSERT_EQ(executor.trace().spans().size(), 2U);
    EXPECT_LE(executor.trace().spans()[0].end, executor.trace().spans()[1].begin);
    const Tensor expected = DistTensor::make(mesh_, spec, [](Index i) {
                              const auto position = static_cast<double>(i / 2);
                              return 10 * (10 * static_cast<double>(i) + position) + position;
                            }).local();
    const Tensor& got = executor.get(z);
    ASSERT_EQ(got.shape(), expected.shape());
    for (Index i = 0; i < got.size(); ++i) EXPECT_EQ(got.view<double>()[i], expected.view<double>()[i]) << i;
  }

  /// The gradient of the error of gelu(x), in strips of `strip_bytes`. Only the gradient is asked for. So the gradient
  /// of the error is the last to read gelu(x) and takes its storage, and all steps are in one pass.
  Tensor error_gradient(Index strip_bytes, std::size_t sweep_steps) {
    Program p;
    p.dtype = DType::f64;
    p.region.pass = Pass::backward;
    p.sizes = {{"T", kRows}, {"D", 8}};
    const ArrayId x = p.add_input("x", {"T", "D"}, Role::activation);
    const ArrayId target = p.add_input("target", {"T", "D"}, Role::activation);
    const ArrayId loss = squared_error(p, "loss", gelu(p, "y", x), target);
    const ArrayId dloss = p.add_input("dloss", {}, Role::whole);
    p.array(dloss).primal = loss;
    const ArrayId dx = differentiate(p, {{loss, dloss}}, {x}).at(x);
    p.outputs = {dx};
    prune(p);
    std::map<ArrayId, Sharding> layouts{{dloss, Sharding::replicated(0)}};
    for (const ArrayId array : {x, target, dx}) layouts[array] = {.dims = {{"X"}, {}}, .unreduced = {}};
    const RankProgram program = partition(p, mesh_.axes(), {.layouts = layouts, .work = {{"X", {"T"}}}, .policy = {}});
    const auto compiled =
        compile(program, {.scheduling = {{.strip_bytes = strip_bytes}}, .prices = bandwidth_bound(mesh_.axes())});
    EXPECT_EQ(compiled->schedule().actions[0].steps.size(), sweep_steps);
    Executor executor(compiled, engine_);
    for (const ArrayId array : {x, target}) {
      const ArraySpec spec{.name = p.array(array).name,
                           .dims = {"T", "D"},
                           .shape = {kRows, 8},
                           .sharding = layouts.at(array),
                           .dtype = DType::f64};
      const double step = array == x ? 1e-3 : 2e-3;
      executor.set(array,
                   DistTensor::make(mesh_, spec, [&](Index i) { return step * static_cast<double>(i); }).local());
    }
    executor.set_scalar(dloss, 1);
    executor.run();
    return executor.get(dx).clone();
  }

  static constexpr Index kRows = 901;
};

/// Uneven and empty blocks, strips of one row, of some rows, of whole sequences.
TEST_F(SweepRunTest, KernelsGetTheirPartAndItsPositions) {
  for (const Index tokens : {2, 3, 5, 901}) {
    for (const Index strip_bytes : {1, 100, 150, 250}) {
      if (strip_bytes > 1 && tokens < 901) continue;  // it would be no sweep on some meshes
      SCOPED_TRACE(fmt::format("T = {}, strips of {}", tokens, strip_bytes));
      expect_places(tokens, strip_bytes);
    }
  }
}

/// A token needs one row of the table, which may lie in any strip of it.
TEST_F(SweepRunTest, EmbeddingsReadWholeTables) {
  Program p;
  p.dtype = DType::f32;
  p.sizes = {{"V", 12}, {"D", 2}, {"B", 1}, {"T", 4}};
  const ArrayId table = p.add_input("E", {"V", "D"}, Role::parameter);
  const ArrayId ids = p.add_input("ids", {"B", "T"}, Role::tokens);
  const ArrayId x = embed(p, "x", cast(p, "E.bf16", table, DType::bf16), ids, Role::activation);
  p.outputs = {x};
  const std::map<ArrayId, Sharding> layouts{{table, Sharding::replicated(2)}, {ids, Sharding::replicated(2)}};
  const auto compiled = compile(partition(p, mesh_.axes(), {.layouts = layouts, .work = {}, .policy = {}}),
                                {.scheduling = {{.strip_bytes = 1}}, .prices = bandwidth_bound(mesh_.axes())});
  Executor executor(compiled, engine_);
  Tensor rows(DType::f64, {12, 2});
  for (Index i = 0; i < rows.size(); ++i) rows.view<double>()[i] = static_cast<double>(1 + i);
  executor.set(table, rows.as(DType::f32));
  Tensor tokens(DType::i32, {1, 4});
  const std::vector<std::int32_t> wanted{0, 11, 5, 0};
  std::copy(wanted.begin(), wanted.end(), tokens.view<std::int32_t>().begin());
  executor.set(ids, tokens);
  executor.run();
  const Tensor got = executor.get(x).as(DType::f64);
  for (Index i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got.view<double>()[i], 1 + 2 * wanted[static_cast<std::size_t>(i / 2)] + i % 2) << i;
  }
}

/// A step of the sweep takes the storage of what an earlier step of the sweep made.
TEST_F(SweepRunTest, StepsMayWorkInPlace) {
  const Tensor alone = error_gradient(0, 1);
  for (const Index strip_bytes : {1, 400}) {
    const Tensor swept = error_gradient(strip_bytes, 3);
    ASSERT_EQ(swept.shape(), alone.shape());
    for (Index i = 0; i < alone.size(); ++i) ASSERT_EQ(swept.view<double>()[i], alone.view<double>()[i]) << i;
  }
}

}  // namespace
}  // namespace shardline
