// Collective matmuls in bf16 against products in f64 of the same elements. Sums are in f32. A result is rounded once;
// of a reduction, each rank's part is rounded before it is sent, and the sum once more.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "program/ops/einsum.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/plan/choose_fusions.h"
#include "program/price/wire.h"
#include "program/run/execute.h"
#include "runtime/base/counter_rng.h"
#include "runtime/layout/blocks.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

constexpr double kRounding = 0x1p-8;  // of a result in bf16, relative

/// C[I, K] = A[I, J] B[J, K], which axis X splits so that one collective goes with it.
struct Case {
  const char* name;
  StepKind collective;
  Sharding a, b, c;
  bool reduces = false;  ///< J is split; else it is whole on every rank
};

Sharding split(bool rows, bool columns) {
  return Sharding{.dims = {rows ? Axes{"X"} : Axes{}, columns ? Axes{"X"} : Axes{}}, .unreduced = {}};
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> kCases = {
      {"gather of a free dim", StepKind::all_gather, split(true, false), split(false, true), split(false, true)},
      {"gather of the contracted dim", StepKind::all_gather, split(true, false), split(true, false),
       split(true, false)},
      {"reduce_scatter", StepKind::reduce_scatter, split(false, true), split(true, false), split(true, false), true},
      {"all_reduce", StepKind::all_reduce, split(false, true), split(true, false), split(false, false), true},
  };
  return kCases;
}

struct Sizes {
  Index i, j, k;
};

using Element = double (*)(const CounterRng&, Index);

/// Sums of these are whole numbers that f32 holds and bf16 must round.
double whole(const CounterRng& rng, Index i) { return std::round(50 * rng.normal(i)); }
double any(const CounterRng& rng, Index i) { return rng.normal(i); }

double rounded(double value) { return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value)))); }

class FusedBf16 : public testing::Test {
 protected:
  const Mesh mesh_{AbstractMesh({{"X", mpi::Communicator::world().size()}}), mpi::Communicator::world()};
  collectives::Engine engine_{mesh_};
  const roofline::Hardware prices_ = bandwidth_bound(mesh_.axes());
  const ScheduleOptions always_{.fuse = ScheduleOptions::Fuse::always, .panel = Flops(2e3)};

  /// If `twice`, a product D that cannot be fused reads the same B first.
  RankProgram partitioned(const Case& tried, const Sizes& sizes, bool twice = false) const {
    Program p;
    p.dtype = DType::bf16;
    p.sizes = {{"I", sizes.i}, {"J", sizes.j}, {"K", sizes.k}};
    const ArrayId a = p.add_input("A", {"I", "J"}, Role::activation);
    const ArrayId b = p.add_input("B", {"J", "K"}, Role::activation);
    std::map<ArrayId, Sharding> layouts{{a, tried.a}, {b, tried.b}};
    if (twice) {
      const ArrayId other = p.add_input("A2", {"I", "J"}, Role::activation);
      const ArrayId scale = p.add_input("V", {"K"}, Role::activation);
      p.outputs.push_back(einsum(p, "D", {other, b, scale}, {"I", "K"}));
      layouts[other] = tried.a;
      layouts[scale] = Sharding::replicated(1);
      layouts[p.outputs.back()] = tried.c;
    }
    const ArrayId c = einsum(p, "C", {a, b}, {"I", "K"});
    layouts[c] = tried.c;
    p.outputs.push_back(c);
    RankProgram program = partition(p, mesh_.axes(), {.layouts = layouts, .work = {}, .policy = {}});
    name_wires(program, collectives::Wire::exchange);
    check(program);
    return program;
  }

  /// An element of an array, as bf16 holds it.
  static double element(Element made, const std::string& name, Index i) {
    return rounded(made(CounterRng(5, name), i));
  }

  /// Runs the program, and calls `check(row, column, value)` for this rank's block of C.
  template <class Check>
  void run(const std::shared_ptr<const Compiled>& compiled, Element made, Check check) {
    Executor executor(compiled, engine_);
    const RankProgram& program = compiled->program();
    for (const ArrayId input : program.program.inputs) {
      const Array& array = program.program.array(input);
      const ArraySpec spec{.name = array.name,
                           .dims = array.dims,
                           .shape = array.shape,
                           .sharding = program.declared.at(input),
                           .dtype = DType::bf16};
      executor.set(input, DistTensor::make(mesh_, spec, [&](Index i) { return element(made, array.name, i); }).local());
    }
    executor.run();
    const ArrayId c = program.program.find("C");
    const Tensor block = executor.get(c);
    ASSERT_EQ(block.dtype(), DType::bf16);
    const std::vector<Range> ranges =
        box(program.program.array(c).shape, program.declared.at(c), mesh_.axes(), mesh_.rank());
    ASSERT_EQ(block.shape(), (Shape{ranges[0].size(), ranges[1].size()}));
    const auto view = block.view<BFloat16>();
    for (Index n = 0; n < block.size(); ++n) {
      check(ranges[0].begin + n / ranges[1].size(), ranges[1].begin + n % ranges[1].size(),
            static_cast<double>(static_cast<float>(view[n])));
    }
  }

  /// The parts of an element of C in f64: of the blocks of J that the ranks multiply.
  std::vector<double> parts(const Case& tried, const Sizes& sizes, Element made, Index row, Index column) const {
    std::vector<double> sums;
    for (Index rank = 0; rank < (tried.reduces ? mesh_.ranks() : 1); ++rank) {
      const Range summed = tried.reduces ? block(sizes.j, mesh_.ranks(), rank) : Range{0, sizes.j};
      double sum = 0;
      for (Index j = summed.begin; j < summed.end; ++j) {
        sum += element(made, "A", row * sizes.j + j) * element(made, "B", j * sizes.k + column);
      }
      sums.push_back(sum);
    }
    return sums;
  }

  std::shared_ptr<const Compiled> fused(const Case& tried, const Sizes& sizes) const {
    auto made = compile(partitioned(tried, sizes), {.scheduling = always_, .prices = prices_});
    if (mesh_.ranks() == 1) return made;
    const ProgramSchedule& schedule = made->schedule();
    EXPECT_EQ(schedule.fusions.size(), 1U);
    for (const auto& [action, group] : schedule.fusions) {
      EXPECT_EQ(group.size(), 1U);
      const Step& step = made->program().steps[static_cast<std::size_t>(group.front().collective)];
      EXPECT_EQ(step.kind, tried.collective);
      EXPECT_EQ(step.wire == collectives::Wire::exchange, tried.reduces);
    }
    return made;
  }

  template <class Body>
  void for_each_case(Body body) {
    for (const Case& tried : all_cases()) {
      for (const Sizes& sizes : {Sizes{7, 301, 5}, Sizes{40, 64, 33}, Sizes{2, 150, 1}, Sizes{1, 2, 3}}) {
        SCOPED_TRACE(fmt::format("{}, {} x {} x {}", tried.name, sizes.i, sizes.j, sizes.k));
        body(tried, sizes);
      }
    }
  }
};

/// Whole numbers have one right result, in any order of addition.
TEST_F(FusedBf16, RoundsNoMoreThanItMust) {
  for_each_case([&](const Case& tried, const Sizes& sizes) {
    run(fused(tried, sizes), whole, [&](Index row, Index column, double value) {
      double sum = 0;
      for (const double part : parts(tried, sizes, whole, row, column)) sum += rounded(part);
      EXPECT_EQ(value, rounded(sum)) << row << " " << column;
    });
  });
}

TEST_F(FusedBf16, IsOffByRoundingAlone) {
  for_each_case([&](const Case& tried, const Sizes& sizes) {
    run(fused(tried, sizes), any, [&](Index row, Index column, double value) {
      const std::vector<double> sums = parts(tried, sizes, any, row, column);
      double exact = 0, sent = 0;
      for (const double part : sums) {
        exact += part;
        sent += sums.size() > 1 ? std::abs(part) : 0;
      }
      const double noise = 1e-6 * static_cast<double>(sizes.j);  // of sums in f32
      EXPECT_NEAR(value, exact, kRounding * (std::abs(exact) + sent * (1 + kRounding)) + noise) << row << " " << column;
    });
  });
}

/// A product that takes the panels of a fusion without its collective rounds once too.
TEST_F(FusedBf16, PanelsWithoutTheCollectiveToo) {
  if (mesh_.ranks() == 1) GTEST_SKIP() << "one rank gathers nothing";
  const Case& contracted = all_cases()[1];
  const Sizes sizes{7, 301, 5};
  const Fusions carried = choose_fusions(partitioned(contracted, sizes), prices_, always_);
  const auto shared =
      compile(partitioned(contracted, sizes, true), {.scheduling = always_, .fusions = carried, .prices = prices_});
  ASSERT_TRUE(shared->schedule().fusions.empty()) << "a product that cannot be fused reads it first";
  ASSERT_EQ(shared->schedule().alone.size(), 1U);
  run(shared, whole, [&](Index row, Index column, double value) {
    EXPECT_EQ(value, rounded(parts(contracted, sizes, whole, row, column)[0])) << row << " " << column;
  });
}

}  // namespace
}  // namespace shardline
