// The product C[I_X, K] = A[I_X, J] B[J, K_X]: by `shardline matmul`; by ScaLAPACK's psgemm, in
// every grid of the ranks and several block sizes; and as local matrix products without
// communication. All take turns, so other work on the machine affects all of them alike.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

#include "benchmarks/command_line.h"
#include "benchmarks/peers/scalapack.h"
#include "collectives/shared/arena.h"
#include "kernels/gemm/gemm.h"
#include "program/ir/print.h"
#include "program/partition/check.h"
#include "program/plan/arena_plan.h"
#include "program/run/execute.h"
#include "program/run/multiply.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/statistics.h"
#include "runtime/layout/blocks.h"
#include "runtime/mpi/environment.h"
#include "tools/job_machine.h"
#include "tools/memory.h"

namespace shardline::peers {
namespace {

constexpr const char* kProduct = "A[I_X, J] * B[J, K_X] -> C[I_X, K]";
constexpr std::array<Index, 3> kBlocks{64, 128, 256};

/// Square matrices of small whole numbers with a known product. A = u p + v q and B = r w + s z
/// with random vectors, so each element of C follows from four sums over J. All is exact in f32 up
/// to n = 2^18.
class ExactProduct {
 public:
  explicit ExactProduct(Index n)
      : u_(vector("u", n)),
        v_(vector("v", n)),
        p_(vector("p", n)),
        q_(vector("q", n)),
        r_(vector("r", n)),
        s_(vector("s", n)),
        w_(vector("w", n)),
        z_(vector("z", n)),
        pr_(dot(p_, r_)),
        ps_(dot(p_, s_)),
        qr_(dot(q_, r_)),
        qs_(dot(q_, s_)) {}

  Index size() const { return static_cast<Index>(u_.size()); }
  float a(Index i, Index j) const { return static_cast<float>(at(u_, i) * at(p_, j) + at(v_, i) * at(q_, j)); }
  float b(Index j, Index k) const { return static_cast<float>(at(r_, j) * at(w_, k) + at(s_, j) * at(z_, k)); }
  float c(Index i, Index k) const {
    return static_cast<float>(at(u_, i) * (pr_ * at(w_, k) + ps_ * at(z_, k)) +
                              at(v_, i) * (qr_ * at(w_, k) + qs_ * at(z_, k)));
  }

 private:
  static std::vector<Index> vector(const char* name, Index n) {
    const CounterRng random(0, name);
    std::vector<Index> values;
    for (Index i = 0; i < n; ++i) values.push_back(random.below(i, 5) - 2);
    return values;
  }
  static Index at(const std::vector<Index>& values, Index i) { return values[static_cast<std::size_t>(i)]; }
  static Index dot(const std::vector<Index>& a, const std::vector<Index>& b) {
    Index sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  std::vector<Index> u_, v_, p_, q_, r_, s_, w_, z_;
  Index pr_, ps_, qr_, qs_;
};

/// One way to compute the product on all ranks. Operands are in place.
class Contender {
 public:
  explicit Contender(std::string name) : name_(std::move(name)) {}
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  const std::string& name() const { return name_; }
  /// Collective over all ranks.
  virtual void run() = 0;
  /// The number of wrong elements in this rank's result, compared with `exact`. Overwrites them for
  /// the next run.
  virtual Index check(const ExactProduct& exact) = 0;

  std::vector<Seconds> times{};  ///< on the slowest rank

 private:
  std::string name_;
};

/// A tensor for the box `ranges` of a matrix; `value` gives the elements.
template <class Value>
Tensor filled(const std::vector<Range>& ranges, Value&& value) {
  Tensor tensor(DType::f32, {ranges[0].size(), ranges[1].size()});
  float* next = tensor.view<float>().data;
  for (Index i = ranges[0].begin; i < ranges[0].end; ++i) {
    for (Index j = ranges[1].begin; j < ranges[1].end; ++j) *next++ = value(i, j);
  }
  return tensor;
}

/// The number of wrong elements in the box `ranges` of C. Overwrites them.
Index check_box(const ExactProduct& exact, const std::vector<Range>& ranges, float* next) {
  Index wrong = 0;
  for (Index i = ranges[0].begin; i < ranges[0].end; ++i) {
    for (Index k = ranges[1].begin; k < ranges[1].end; ++k, ++next) {
      wrong += *next == exact.c(i, k) ? 0 : 1;
      *next = std::numeric_limits<float>::infinity();
    }
  }
  return wrong;
}

/// The best program for the product, run as `shardline matmul` runs it.
class Ours : public Contender {
 public:
  Ours(const ExactProduct& exact, collectives::Engine& engine)
      : Contender("ours"),
        mesh_(engine.mesh()),
        product_(make_product(parse_product(kProduct), {{"I", exact.size()}, {"J", exact.size()}, {"K", exact.size()}},
                              mesh_.axes())),
        compiled_(compiled(product_, cpu_hardware(mesh_, DType::f32))) {
    obstacle_ = collectives::give_arena(engine, compiled_->arena().total_bytes());
    executor_.emplace(compiled_, engine);
    executor_->set(product_.operands[0],
                   filled(box_of(product_.operands[0]), [&](Index i, Index j) { return exact.a(i, j); }));
    executor_->set(product_.operands[1],
                   filled(box_of(product_.operands[1]), [&](Index j, Index k) { return exact.b(j, k); }));
  }

  void run() override { executor_->run(); }
  Index check(const ExactProduct& exact) override {
    Tensor c = executor_->get(product_.result);
    return check_box(exact, box_of(product_.result), c.view<float>().data);
  }

  std::vector<std::string> lines() const { return shardline::lines(compiled_->program()); }
  /// Why collectives use messages; empty if they do not.
  const std::string& obstacle() const { return obstacle_; }

 private:
  /// The cheapest program.
  static std::shared_ptr<const Compiled> compiled(const Product& product, const roofline::Hardware& prices) {
    RankProgram program = product.candidates(prices).at(0).program;
    shardline::check(program);
    return compile(std::move(program), {.scheduling = ScheduleOptions(), .prices = prices});
  }

  std::vector<Range> box_of(ArrayId array) const {
    return box(product_.program.array(array).shape, product_.sharding(array), product_.mesh, mesh_.rank());
  }

  const Mesh& mesh_;
  Product product_;
  std::shared_ptr<const Compiled> compiled_;
  std::string obstacle_;
  std::optional<Executor> executor_;
};

/// Every rank multiplies its rows of A by all of B, which it holds. No communication.
class LocalProducts : public Contender {
 public:
  LocalProducts(const ExactProduct& exact, const mpi::Communicator& world)
      : Contender("local GEMMs"),
        rows_(block(exact.size(), world.size(), world.rank())),
        all_{0, exact.size()},
        a_(filled({rows_, all_}, [&](Index i, Index j) { return exact.a(i, j); })),
        b_(filled({all_, all_}, [&](Index j, Index k) { return exact.b(j, k); })),
        c_(DType::f32, {rows_.size(), all_.size()}) {}

  void run() override {
    const Index n = all_.size();
    kernels::gemm<float>({.m = rows_.size(), .n = n, .k = n, .lda = n, .ldb = n, .ldc = n}, a_.view<float>().data,
                         b_.view<float>().data, c_.view<float>().data);
  }
  Index check(const ExactProduct& exact) override { return check_box(exact, {rows_, all_}, c_.view<float>().data); }

 private:
  Range rows_;
  Range all_;
  Tensor a_;
  Tensor b_;
  Tensor c_;
};

/// psgemm on matrices with blocks of `block` over `grid`.
class Psgemm : public Contender {
 public:
  Psgemm(const ExactProduct& exact, const ProcessGrid& grid, Index block)
      : Contender(fmt::format("psgemm {}x{}, blocks of {}", grid.rows(), grid.columns(), block)),
        a_(grid, exact.size(), exact.size(), block),
        b_(grid, exact.size(), exact.size(), block),
        c_(grid, exact.size(), exact.size(), block) {
    a_.for_each([&](Index i, Index j, float& element) { element = exact.a(i, j); });
    b_.for_each([&](Index j, Index k, float& element) { element = exact.b(j, k); });
  }

  void run() override { multiply(a_, b_, c_); }
  Index check(const ExactProduct& exact) override {
    Index wrong = 0;
    c_.for_each([&](Index i, Index k, float& element) {
      wrong += element == exact.c(i, k) ? 0 : 1;
      element = std::numeric_limits<float>::infinity();
    });
    return wrong;
  }

 private:
  BlockCyclicMatrix a_;
  BlockCyclicMatrix b_;
  BlockCyclicMatrix c_;
};

struct Options {
  std::vector<Index> sizes{2048, 4096};
  int runs = 7;
};

/// Collective over all ranks: runs each in turn, `runs` times, after one warm-up round. Every round
/// starts with another contender, so the order changes.
void time_in_turn(const std::vector<Contender*>& contenders, int runs, const mpi::Communicator& world) {
  for (int i = 0; i <= runs; ++i) {
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      Contender& contender = *contenders[(static_cast<std::size_t>(i) * 3 + k) % contenders.size()];
      world.barrier();
      const Seconds begin = now();
      contender.run();
      const Seconds time(world.max((now() - begin).value));
      if (i > 0) contender.times.push_back(time);
    }
  }
}

void print_row(Index n, const Contender& contender, Seconds ours) {
  const Flops flops(2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
  const Seconds time = shardline::median(contender.times);
  const auto [fastest, slowest] = std::minmax_element(contender.times.begin(), contender.times.end());
  fmt::print("{:<6}{:<28}{:>10}{:>10}{:>10}{:>14}{:>10.2f}\n", n, contender.name(), to_string(time),
             to_string(*fastest), to_string(*slowest), to_string(flops / time), time / ours);
}

/// Collective over all ranks: all contenders on matrices of `n`, as rows of the table. Returns the
/// number of wrong elements.
Index compare(Index n, int runs, collectives::Engine& engine) {
  const mpi::Communicator& world = engine.mesh().comm();
  const ExactProduct exact(n);
  Ours ours(exact, engine);
  LocalProducts local(exact, world);
  std::vector<std::unique_ptr<ProcessGrid>> grids;
  std::vector<std::unique_ptr<Psgemm>> peers;
  std::vector<Contender*> contenders{&ours, &local};
  for (int rows = 1; rows <= world.size(); ++rows) {
    if (world.size() % rows != 0) continue;
    grids.push_back(std::make_unique<ProcessGrid>(rows, world.size() / rows));
    for (const Index block : kBlocks) {
      peers.push_back(std::make_unique<Psgemm>(exact, *grids.back(), block));
      contenders.push_back(peers.back().get());
    }
  }
  time_in_turn(contenders, runs, world);

  Index wrong = 0;
  for (Contender* contender : contenders) {
    const auto faults = static_cast<Index>(world.sum(static_cast<double>(contender->check(exact))));
    if (faults > 0 && world.rank() == 0) fmt::print("WRONG: {} elements of {}, {}\n", faults, n, contender->name());
    wrong += faults;
  }
  if (world.rank() != 0) return wrong;
  if (!ours.obstacle().empty()) fmt::print("ours: collectives go by messages: {}\n", ours.obstacle());
  const Seconds time = shardline::median(ours.times);
  for (const Contender* contender : contenders) print_row(n, *contender, time);
  const auto best = std::min_element(peers.begin(), peers.end(), [](const auto& one, const auto& other) {
    return shardline::median(one->times) < shardline::median(other->times);
  });
  fmt::print("{:<6}ours is {}\n", n, fmt::join(ours.lines(), "; "));
  fmt::print("{:<6}and {:.2f} times as fast as the best psgemm ({}), {:.2f} times as fast as local GEMMs\n\n", "",
             shardline::median((*best)->times) / time, (*best)->name(), shardline::median(local.times) / time);
  return wrong;
}

void print_head(const mpi::Communicator& world, const tools::JobMachine& machine) {
  if (world.rank() != 0) return;
  fmt::print(
      "C[I_X, K] = A[I_X, J] * B[J, K_X] of n x n matrices, f32; {} ranks on {} ({} node{}), one BLAS thread each\n",
      world.size(), machine.host, machine.nodes, machine.nodes == 1 ? "" : "s");
  fmt::print("ours and local GEMMs: {}; psgemm's BLAS: {}\n", machine.blas, blas_of_scalapack());
  if (!machine.timing_fault.empty()) fmt::print("timings are not valid: {}\n", machine.timing_fault);
  fmt::print("\n{:<6}{:<28}{:>10}{:>10}{:>10}{:>14}{:>10}\n", "n", "", "median", "min", "max", "rate", "x ours");
}

/// Collective over all ranks: prints the table. Returns the exit code: 1 if a result was wrong.
int run(const Options& options) {
  for (const Index n : options.sizes) require(n >= 1 && n <= 1 << 16, "--size {}: 1 to {} can be taken", n, 1 << 16);
  require(options.runs >= 1, "--runs {}: at least 1 is needed", options.runs);
  const mpi::Communicator world = mpi::Communicator::world();
  print_head(world, tools::share_machine(world, 1));
  Index wrong = 0;
  for (const Index n : options.sizes) {
    const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
    collectives::Engine engine(mesh);
    wrong += compare(n, options.runs, engine);
  }
  if (world.rank() == 0) fmt::print("{}\n", wrong == 0 ? "all results are right to the last bit" : "results are WRONG");
  return wrong == 0 ? 0 : 1;
}

/// Runs on every rank.
int run_command(int argc, char** argv) {
  CLI::App app{"Our sharded product beside ScaLAPACK's psgemm; run it under mpirun.", "scalapack_gemm"};
  Options options;
  app.add_option("--size", options.sizes, "Sizes n of the matrices, as in 2048,4096")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--runs", options.runs, "Timed runs of each")->capture_default_str();
  if (!parse_arguments(app, argc, argv)) return 0;
  return run(options);
}

}  // namespace
}  // namespace shardline::peers

int main(int argc, char** argv) {
  shardline::tools::keep_freed_memory();
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::peers::run_command(argc, argv); });
}
