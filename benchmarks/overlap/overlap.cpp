// Measures how much of a collective a matrix product hides. It runs the product alone, the
// collective alone, one after the other, and panel by panel
// (collectives/overlap/collective_matmul.h), in one run under mpirun.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include "benchmarks/command_line.h"
#include "benchmarks/overlap/slowest_rank.h"
#include "collectives/collectives.h"
#include "kernels/einsum/einsum.h"
#include "kernels/gemm/gemm.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/statistics.h"
#include "runtime/layout/blocks.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "runtime/trace/clock.h"

namespace shardline {
namespace {

using collectives::PanelOptions;
using collectives::PanelReport;

struct Arguments {
  Index rows = 4096;
  Index columns = 1024;
  Index inner = 512;
  Index panel_rows = 0;
  std::string algorithm = "auto";
  Index segment_bytes = 0;
  Index window = 0;
  int runs = 5;
  bool balance = false;
};

/// A product with a collective on one of its arrays: the array [rows, columns] that is whole on
/// every rank.
class Case {
 public:
  Case(std::string name, collectives::Engine& engine, const Arguments& arguments)
      : name_(std::move(name)), engine_(engine), arguments_(arguments) {}
  virtual ~Case() = default;
  Case(const Case&) = delete;

  const std::string& name() const { return name_; }
  Index inner() const { return inner_; }
  /// Allocates arrays with `inner` as the third extent.
  virtual void resize(Index inner) = 0;
  virtual void communicate() = 0;
  void multiply() {
    kept_.reset();
    multiply_panel({0, arguments_.rows}, true);
  }
  /// The product in at least as many panels as fused(), without communication: the cost of cutting
  /// it.
  void multiply_in_panels() {
    constexpr Index kPanels = 16;
    const Index rows = arguments_.panel_rows > 0 ? arguments_.panel_rows : (arguments_.rows + kPanels - 1) / kPanels;
    kept_.emplace();
    for (Index begin = 0; begin < arguments_.rows; begin += rows) {
      multiply_panel({begin, std::min(begin + rows, arguments_.rows)}, begin == 0);
    }
  }
  virtual void one_after_the_other() = 0;
  virtual PanelReport fused() = 0;
  virtual const Tensor& result() const = 0;

 protected:
  /// The part of the product at these rows of the moving array. `first` overwrites a result in
  /// which panels add up.
  virtual void multiply_panel(Range rows, bool first) = 0;

  Tensor random(const std::string& what, const Shape& shape) const {
    Tensor tensor(DType::f32, shape);
    const CounterRng rng(engine_.mesh().rank(), what);
    for (Index i = 0; i < tensor.size(); ++i) tensor.view<float>()[i] = static_cast<float>(rng.normal(i));
    return tensor;
  }
  Tensor zeros(const Shape& shape) const { return Tensor::zeros(DType::f32, shape); }
  Range own_rows() const { return block(arguments_.rows, engine_.mesh().ranks(), engine_.mesh().rank()); }
  collectives::Options collective() const {
    return {.algorithm = collectives::algorithm_named(arguments_.algorithm),
            .segment_bytes = arguments_.segment_bytes,
            .window = arguments_.window};
  }
  PanelOptions panels() const {
    return {.panel_rows = arguments_.panel_rows, .order = collectives::Order::schedule, .collective = collective()};
  }
  collectives::Compute by_panels() {
    kept_.emplace();
    return [this, first = true](Range rows) mutable { multiply_panel(rows, std::exchange(first, false)); };
  }

  /// What the panels of a product share; null for a whole product.
  kernels::KeptOperands* kept() { return kept_ ? &*kept_ : nullptr; }

  std::string name_;
  collectives::Engine& engine_;
  Arguments arguments_;
  std::optional<kernels::KeptOperands> kept_;
  Index inner_ = 0;
  const Axes axes_{"X"};
};

void product(const Tensor& a, const kernels::Subscripts& a_indices, const Tensor& b,
             const kernels::Subscripts& b_indices, Tensor& out, const kernels::Subscripts& out_indices,
             const kernels::Window& window, kernels::KeptOperands* kept) {
  const std::array<kernels::EinsumOperand<float>, 2> operands{
      {{a.view<float>(), a_indices}, {b.view<float>(), b_indices}}};
  kernels::einsum<float>(operands, out.view<float>(), out_indices, window, kept);
}

constexpr int kRow = 0;
constexpr int kColumn = 1;
constexpr int kInner = 2;

/// Out[R, N] = AllGather(In[R_X, C]) W[C, N]; or, with contracted rows, Out[N, C] = A[N, R]
/// AllGather(W[R_X, C]).
class Gather : public Case {
 public:
  Gather(collectives::Engine& engine, const Arguments& arguments, bool contracted)
      : Case(contracted ? "all_gather, contracted" : "all_gather, free", engine, arguments), contracted_(contracted) {
    in_ = random("in", {own_rows().size(), arguments.columns});
    whole_ = random("whole", {arguments.rows, arguments.columns});
  }
  void resize(Index inner) override {
    inner_ = inner;
    other_ = contracted_ ? random("other", {inner, arguments_.rows}) : random("other", {arguments_.columns, inner});
    out_ = contracted_ ? zeros({inner, arguments_.columns}) : zeros({arguments_.rows, inner});
  }
  void communicate() override { collectives::all_gather(engine_, axes_, in_, 0, whole_, collective()); }
  void one_after_the_other() override {
    communicate();
    multiply();
  }
  PanelReport fused() override {
    return collectives::gather_and_compute(engine_, axes_, in_, whole_, panels(), by_panels());
  }
  const Tensor& result() const override { return out_; }

 protected:
  void multiply_panel(Range rows, bool first) override {
    if (contracted_) {
      product(other_, {kInner, kRow}, whole_, {kRow, kColumn}, out_, {kInner, kColumn}, {kRow, rows, !first}, kept());
    } else {
      product(whole_, {kRow, kColumn}, other_, {kColumn, kInner}, out_, {kRow, kInner}, {kRow, rows}, kept());
    }
  }

 private:
  bool contracted_;
  Tensor in_, whole_, other_, out_;
};

/// Out[R_X, C] = ReduceScatter(A[R, N] W[N, C]), or Out[R, C] with AllReduce.
class Reduce : public Case {
 public:
  Reduce(collectives::Engine& engine, const Arguments& arguments, bool scatters)
      : Case(scatters ? "reduce_scatter" : "all_reduce", engine, arguments), scatters_(scatters) {
    partial_ = zeros({arguments.rows, arguments.columns});
    out_ = zeros({scatters ? own_rows().size() : arguments.rows, arguments.columns});
  }
  void resize(Index inner) override {
    inner_ = inner;
    a_ = random("a", {arguments_.rows, inner});
    w_ = random("w", {inner, arguments_.columns});
  }
  void communicate() override {
    if (scatters_) {
      collectives::reduce_scatter(engine_, axes_, ReduceOp::sum, partial_, 0, out_, collective());
    } else {
      collectives::all_reduce(engine_, axes_, ReduceOp::sum, partial_, out_, collective());
    }
  }
  void one_after_the_other() override {
    multiply();
    communicate();
  }
  PanelReport fused() override {
    if (scatters_) {
      return collectives::compute_and_scatter(engine_, axes_, ReduceOp::sum, partial_, out_, panels(), by_panels());
    }
    return collectives::compute_and_reduce(engine_, axes_, ReduceOp::sum, partial_, out_, panels(), by_panels());
  }
  const Tensor& result() const override { return out_; }

 protected:
  void multiply_panel(Range rows, bool /*first*/) override {
    product(a_, {kRow, kInner}, w_, {kInner, kColumn}, partial_, {kRow, kColumn}, {kRow, rows}, kept());
  }

 private:
  bool scatters_;
  Tensor a_, w_, partial_, out_;
};

const mpi::Communicator& world_of(const collectives::Engine& engine) { return engine.mesh().comm(); }

Seconds median_of(const collectives::Engine& engine, int runs, const std::function<void()>& body) {
  std::vector<Seconds> times;
  for (int run = 0; run < runs; ++run) times.push_back(time_of(engine, body));
  return shardline::median(times);
}

/// Chooses the third extent so that product and collective take the same time, within 10% if the
/// machine allows.
void balance(Case& c, const collectives::Engine& engine, Index inner) {
  c.resize(inner);
  c.communicate();
  const Seconds comms = median_of(engine, 3, [&] { c.communicate(); });
  for (int round = 0; round < 6; ++round) {
    c.multiply();
    const Seconds math = median_of(engine, 3, [&] { c.multiply(); });
    if (std::abs(math / comms - 1) < 0.03) return;
    constexpr double kStep = 8;
    c.resize(std::max<Index>(
        8, static_cast<Index>(std::llround(static_cast<double>(c.inner()) * (comms / math) / kStep) * 8)));
  }
}

struct Row {
  std::vector<Seconds> math, panels, comms, unfused, fused, exposed;
};

void print_heading(const Arguments& arguments, Index ranks) {
  std::cout << fmt::format(
      "{} ranks, [{}, {}] of f32 moves, {} a rank and way round; medians of {} runs, slowest rank\n"
      "{:<24}{:>7}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10}{:>10}\n",
      ranks, arguments.rows, arguments.columns,
      to_string(Bytes(4.0 * static_cast<double>(arguments.rows * arguments.columns * (ranks - 1)) /
                      static_cast<double>(ranks))),
      arguments.runs, "", "inner", "T_math", "in panels", "T_comms", "unfused", "fused", "exposed", "fused/max",
      "speed-up");
}

void measure(Case& c, const collectives::Engine& engine, int runs) {
  c.one_after_the_other();
  const Tensor expected = c.result().clone();
  c.fused();
  expect_equal(engine, c.result(), expected, c.name());
  Row row;
  PanelReport report;
  for (int run = 0; run < runs; ++run) {
    row.math.push_back(time_of(engine, [&] { c.multiply(); }));
    row.panels.push_back(time_of(engine, [&] { c.multiply_in_panels(); }));
    row.comms.push_back(time_of(engine, [&] { c.communicate(); }));
    row.unfused.push_back(time_of(engine, [&] { c.one_after_the_other(); }));
    row.fused.push_back(time_of(engine, [&] { report = c.fused(); }));
    row.exposed.emplace_back(world_of(engine).max(report.exposed.value));
  }
  if (engine.mesh().rank() != 0) return;
  const Seconds math = shardline::median(row.math);
  const Seconds comms = shardline::median(row.comms);
  const Seconds unfused = shardline::median(row.unfused);
  const Seconds fused = shardline::median(row.fused);
  std::cout << fmt::format("{:<24}{:>7}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10.3f}{:>10.3f}\n", c.name(), c.inner(),
                           to_string(math), to_string(shardline::median(row.panels)), to_string(comms),
                           to_string(unfused), to_string(fused), to_string(shardline::median(row.exposed)),
                           fused / std::max(math, comms), unfused / fused)
            << std::flush;
}

void run_all(const Arguments& arguments) {
  const mpi::Communicator world = mpi::Communicator::world();
  require(world.size() > 1, "one rank has nothing to communicate; run it under mpirun with 2 or more");
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  if (mesh.rank() == 0) print_heading(arguments, mesh.ranks());
  const auto run = [&](Case&& c) {
    if (arguments.balance) {
      balance(c, engine, arguments.inner);
    } else {
      c.resize(arguments.inner);
    }
    measure(c, engine, arguments.runs);
  };
  run(Gather(engine, arguments, false));
  run(Gather(engine, arguments, true));
  run(Reduce(engine, arguments, true));
  run(Reduce(engine, arguments, false));
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures collective matmuls: product and collective alone, one after the other, and panel by panel.",
               "overlap_benchmark"};
  app.add_option("--rows", arguments.rows, "Rows of the array that moves: gathered, scattered or reduced")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--columns", arguments.columns, "Its columns")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--inner", arguments.inner, "The product's third extent")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--balance", arguments.balance,
               "Change the third extent until the product takes as long as the collective");
  app.add_option("--panel-rows", arguments.panel_rows, "Rows of a panel; 0: a sixteenth of the rows")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--algorithm", arguments.algorithm, "Of the collective: auto, ring, bidirectional, pairwise, doubling")
      ->capture_default_str();
  app.add_option("--segment", arguments.segment_bytes, "Bytes of a segment; 0: as the tuning table says")
      ->capture_default_str();
  app.add_option("--window", arguments.window, "Segments in flight; 0: as the collective decides")
      ->capture_default_str();
  app.add_option("--runs", arguments.runs, "Timed runs")->check(CLI::PositiveNumber)->capture_default_str();
  if (!parse_arguments(app, argc, argv)) return 0;
  kernels::set_blas_threads(1);
  run_all(arguments);
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run(argc, argv); });
}
