// Computes panels while a collective runs, on arrays of whole numbers.

#include "collectives/overlap/collective_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "collectives/collectives.h"
#include "runtime/base/check.h"
#include "tests/collectives/fixture.h"

namespace shardline::collectives {
namespace {

constexpr Index kColumns = 3;

constexpr Order kOrders[] = {Order::arrival, Order::schedule, Order::coordinate};

void fill_with_nan(Tensor& tensor) {
  std::fill_n(tensor.view<float>().begin(), tensor.size(), std::numeric_limits<float>::quiet_NaN());
}

std::vector<PanelOptions> panel_options() {
  std::vector<PanelOptions> all;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise, Algorithm::automatic}) {
    for (const Index panel_rows : {Index{0}, Index{1}, Index{2}, Index{100}}) {
      all.push_back({.panel_rows = panel_rows, .collective = {.algorithm = algorithm}});
      all.push_back(
          {.panel_rows = panel_rows, .collective = {.algorithm = algorithm, .segment_bytes = 13, .window = 3}});
    }
  }
  return all;
}

/// Counts the requests of each row.
class RowCount {
 public:
  explicit RowCount(Index rows) : times_(static_cast<std::size_t>(rows), 0) {}
  void count(Range rows) {
    ASSERT_LT(rows.begin, rows.end);
    for (Index r = rows.begin; r < rows.end; ++r) ++times_.at(static_cast<std::size_t>(r));
  }
  void expect_each_once() const {
    EXPECT_TRUE(std::all_of(times_.begin(), times_.end(), [](int t) { return t == 1; }));
  }

 private:
  std::vector<int> times_;
};

/// Copies rows of one array to another of the same shape.
void copy_rows(const Tensor& from, Tensor& to, Range rows) {
  const Range flat{rows.begin * kColumns, rows.end * kColumns};
  std::copy(from.view<float>().begin() + flat.begin, from.view<float>().begin() + flat.end,
            to.view<float>().begin() + flat.begin);
}

void for_each_case(const std::function<void(Stage&, Index rows, const PanelOptions&)>& check) {
  for_each_mesh([&](Stage& stage) {
    Turns turns(5);
    std::vector<Index> sizes = interesting_sizes(stage.positions());
    sizes.push_back(37);
    for (const Index rows : sizes) {
      for (const PanelOptions& options : panel_options()) {
        if (!turns.taken()) continue;
        SCOPED_TRACE(
            fmt::format("{} rows in panels of {}, {}", rows, options.panel_rows, describe(options.collective)));
        check(stage, rows, options);
      }
    }
  });
}

TEST(GatherAndCompute, HasEveryRowOnceAndThere) {
  for_each_case([](Stage& stage, Index rows, PanelOptions options) {
    const Tensor whole = whole_numbers(DType::f32, {rows, kColumns}, "rows");
    const Tensor block = cut_tensor(whole, 0, stage.block(rows));
    for (const Order order : kOrders) {
      options.order = order;
      Tensor out(DType::f32, {rows, kColumns});
      fill_with_nan(out);
      Tensor seen(DType::f32, {rows, kColumns});
      fill_with_nan(seen);
      RowCount count(rows);
      std::vector<Range> panels;
      const PanelReport report = gather_and_compute(stage.engine, stage.axes, block, out, options, [&](Range panel) {
        count.count(panel);
        panels.push_back(panel);
        copy_rows(out, seen, panel);
      });
      count.expect_each_once();
      EXPECT_TRUE(same_bits(seen, whole));
      EXPECT_TRUE(same_bits(out, whole));
      EXPECT_EQ(report.panels, static_cast<Index>(panels.size()));
      EXPECT_GE(report.ended, report.started);
      if (order != Order::arrival) {
        EXPECT_EQ(gather_panels(stage.engine, stage.axes, out, options), panels);
      }
      if (order == Order::coordinate) {
        EXPECT_TRUE(std::is_sorted(panels.begin(), panels.end(), [](auto a, auto b) { return a.begin < b.begin; }));
      } else if (order == Order::schedule && stage.block(rows).size() > 0) {
        EXPECT_EQ(panels.front().begin, stage.block(rows).begin);
      }
    }
  });
}

/// "[0, 3) [3, 6) ", ascending.
std::string panels_of_gather(Stage& stage, Index rows, const PanelOptions& options) {
  Tensor out(DType::f32, {rows, kColumns});
  const Tensor block = Tensor::zeros(DType::f32, {stage.block(rows).size(), kColumns});
  std::vector<Range> panels;
  gather_and_compute(stage.engine, stage.axes, block, out, options, [&](Range panel) { panels.push_back(panel); });
  std::sort(panels.begin(), panels.end(), [](auto a, auto b) { return a.begin < b.begin; });
  std::string text;
  for (const Range& panel : panels) text += fmt::format("[{}, {}) ", panel.begin, panel.end);
  return text;
}

/// Replicas have the same bits only if they come from the same panels. This also holds if the own block is
/// ready at once, if the others come in parts, and along several axes.
TEST(GatherAndCompute, HasTheSamePanelsOnEveryRankInEveryOrder) {
  for_each_mesh([](Stage& stage) {
    Turns turns(5);
    for (const Index rows : {Index{0}, Index{3}, Index{41}}) {
      for (PanelOptions options : panel_options()) {
        if (!turns.taken()) continue;
        SCOPED_TRACE(describe(options.collective));
        std::vector<std::string> all;
        for (const Order order : kOrders) {
          options.order = order;
          const std::string mine = panels_of_gather(stage, rows, options);
          for (const std::string& text : stage.mesh.comm().all_gather_bytes(mine)) all.push_back(text);
        }
        EXPECT_EQ(std::count(all.begin(), all.end(), all.front()), std::ssize(all)) << all.front();
      }
    }
  });
}

/// Operand of one rank.
Tensor operand_of(Index rank, Index rows) {
  return whole_numbers(DType::f32, {rows, kColumns}, fmt::format("operand {}", rank));
}

Tensor sum_over(Stage& stage, Index rows) {
  std::vector<Tensor> arrays;
  for (const Index rank : stage.group()) arrays.push_back(operand_of(rank, rows));
  return combine(ReduceOp::sum, arrays);
}

TEST(ComputeAndScatter, TakesEveryRowOnceAndNotBeforeItIsMade) {
  for_each_case([](Stage& stage, Index rows, const PanelOptions& options) {
    const Tensor operand = operand_of(stage.mesh.rank(), rows);
    const Tensor expected = cut_tensor(sum_over(stage, rows), 0, stage.block(rows));
    Tensor partial(DType::f32, {rows, kColumns});
    fill_with_nan(partial);
    Tensor out(DType::f32, expected.shape());
    fill_with_nan(out);
    RowCount count(rows);
    compute_and_scatter(stage.engine, stage.axes, ReduceOp::sum, partial, out, options, [&](Range panel) {
      count.count(panel);
      copy_rows(operand, partial, panel);
    });
    count.expect_each_once();
    EXPECT_TRUE(same_bits(out, expected));
  });
}

TEST(ComputeAndReduce, TakesEveryRowOnceAndNotBeforeItIsMade) {
  for_each_case([](Stage& stage, Index rows, const PanelOptions& options) {
    const Tensor operand = operand_of(stage.mesh.rank(), rows);
    const Tensor expected = sum_over(stage, rows);
    for (const bool in_place : {false, true}) {
      Tensor partial(DType::f32, {rows, kColumns});
      fill_with_nan(partial);
      Tensor out = partial;
      if (!in_place) {
        out = Tensor(DType::f32, {rows, kColumns});
        fill_with_nan(out);
      }
      RowCount count(rows);
      compute_and_reduce(stage.engine, stage.axes, ReduceOp::sum, partial, out, options, [&](Range panel) {
        count.count(panel);
        copy_rows(operand, partial, panel);
      });
      count.expect_each_once();
      EXPECT_TRUE(same_bits(out, expected));
    }
  });
}

/// Fractions whose sum depends on the order of addition.
Tensor fractions(Index rank, Index rows) {
  Tensor tensor = whole_numbers(DType::f32, {rows, kColumns}, fmt::format("fraction {}", rank));
  for (float& value : tensor.view<float>()) value = 1.0F / (10.5F + value);
  return tensor;
}

TEST(CollectiveMatmul, RepeatsBitwiseAndReplicasAgree) {
  for_each_mesh([](Stage& stage) {
    const Index rows = 41;
    const Tensor operand = fractions(stage.mesh.rank(), rows);
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise}) {
      const PanelOptions options{.panel_rows = 4, .collective = {.algorithm = algorithm, .segment_bytes = 16}};
      Tensor partial(DType::f32, {rows, kColumns});
      const auto compute = [&](Range panel) { copy_rows(operand, partial, panel); };
      std::vector<Tensor> scattered;
      std::vector<Tensor> reduced;
      for (int run = 0; run < 3; ++run) {
        scattered.emplace_back(DType::f32, Shape{stage.block(rows).size(), kColumns});
        compute_and_scatter(stage.engine, stage.axes, ReduceOp::sum, partial, scattered.back(), options, compute);
        reduced.emplace_back(DType::f32, Shape{rows, kColumns});
        compute_and_reduce(stage.engine, stage.axes, ReduceOp::sum, partial, reduced.back(), options, compute);
        EXPECT_TRUE(same_bits(scattered.front(), scattered.back()));
        EXPECT_TRUE(same_bits(reduced.front(), reduced.back()));
      }
      Tensor of_first = reduced.front().clone();
      Tensor all(DType::f32, {rows * stage.positions(), kColumns});
      all_gather(stage.engine, stage.axes, reduced.front(), 0, all);
      for (Index i = 0; i < stage.positions(); ++i) {
        EXPECT_TRUE(same_bits(all.rows({i * rows, (i + 1) * rows}), of_first)) << "position " << i;
      }
    }
  });
}

TEST(CollectiveMatmul, GoesOnBesideOtherOperations) {
  for_each_mesh([](Stage& stage) {
    const Index rows = 20000;
    const Tensor operand = operand_of(stage.mesh.rank(), rows);
    const Tensor sum = sum_over(stage, rows);
    Tensor before(DType::f32, {rows, kColumns});
    Handle earlier = start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, operand, before);
    Tensor partial(DType::f32, {rows, kColumns});
    Tensor inner_partial(DType::f32, {rows, kColumns});
    Tensor out(DType::f32, {rows, kColumns});
    Tensor inner_out(DType::f32, {stage.block(rows).size(), kColumns});
    bool first = true;
    // The second one begins while the first is in flight, on every rank at the same panel.
    compute_and_reduce(stage.engine, stage.axes, ReduceOp::sum, partial, out, {}, [&](Range panel) {
      copy_rows(operand, partial, panel);
      if (!std::exchange(first, false)) return;
      compute_and_scatter(stage.engine, stage.axes, ReduceOp::sum, inner_partial, inner_out, {},
                          [&](Range rows_made) { copy_rows(operand, inner_partial, rows_made); });
    });
    earlier.wait();
    EXPECT_TRUE(same_bits(before, sum));
    EXPECT_TRUE(same_bits(out, sum));
    EXPECT_TRUE(same_bits(inner_out, cut_tensor(sum, 0, stage.block(rows))));
  });
}

TEST(CollectiveMatmul, TakesRowsWithoutElements) {
  for_each_mesh([](Stage& stage) {
    const Index rows = 2 * stage.positions();
    Tensor whole(DType::f32, {rows, 0});
    Tensor block(DType::f32, {2, 0});
    const auto expect_each_once = [&](auto call) {
      RowCount count(rows);
      call([&](Range panel) { count.count(panel); });
      count.expect_each_once();
    };
    expect_each_once([&](const Compute& c) { gather_and_compute(stage.engine, stage.axes, block, whole, {}, c); });
    expect_each_once(
        [&](const Compute& c) { compute_and_scatter(stage.engine, stage.axes, ReduceOp::sum, whole, block, {}, c); });
    expect_each_once(
        [&](const Compute& c) { compute_and_reduce(stage.engine, stage.axes, ReduceOp::sum, whole, whole, {}, c); });
  });
}

TEST(CollectiveMatmul, RefusesAlgorithmsWithoutMessagesAndOtherNonsense) {
  const Mesh mesh(AbstractMesh({{"X", world().size()}}), world());
  Engine engine(mesh);
  const Axes axes{"X"};
  Tensor whole = Tensor::zeros(DType::f32, {world().size(), 2});
  Tensor block = Tensor::zeros(DType::f32, {1, 2});
  const auto none = [](Range) {};
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::native}) {
    const PanelOptions options{.collective = {.algorithm = algorithm}};
    const std::string name(name_of(algorithm));
    expect_refused([&] { gather_and_compute(engine, axes, block, whole, options, none); }, {"all_gather", name});
    expect_refused([&] { compute_and_scatter(engine, axes, ReduceOp::sum, whole, block, options, none); },
                   {"reduce_scatter", name});
    expect_refused([&] { compute_and_reduce(engine, axes, ReduceOp::sum, whole, whole, options, none); },
                   {"all_reduce", name});
  }
  expect_refused([&] { gather_and_compute(engine, axes, block, whole, {.panel_rows = -1}, none); },
                 {"panel_rows is -1"});
  Tensor scalar = Tensor::zeros(DType::f32, {});
  expect_refused([&] { compute_and_reduce(engine, axes, ReduceOp::sum, scalar, scalar, {}, none); }, {"without dims"});
  expect_refused([&] { gather_and_compute(engine, axes, block, whole, {.collective = {.window = 2000}}, none); },
                 {"window is 2000"});
}

}  // namespace
}  // namespace shardline::collectives
