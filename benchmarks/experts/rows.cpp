// Measures what an all_to_all of rows in use gains over the full all_to_all, under mpirun: the arrays of experts, there
// and back, in shared memory and by messages, with some shares of rows in use. Every row is measured within one run,
// all ways in turn.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "benchmarks/command_line.h"
#include "benchmarks/overlap/slowest_rank.h"
#include "collectives/all_to_all.h"
#include "collectives/all_to_all_rows.h"
#include "collectives/shared/arena.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/layout/blocks.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"

namespace shardline {
namespace {

using collectives::Algorithm;

struct Arguments {
  Index experts = 8;
  Index sequences = 16;
  Index rows = 32;
  Index width = 768;
  int runs = 51;
};

/// An exchange of xs[E, B, C, D] in f32: experts are gathered or split, and sequences the other way.
class Exchange {
 public:
  /// `gather_dim` 1: to the experts; 0: back.
  Exchange(collectives::Engine& engine, const Arguments& arguments, int gather_dim, double share, bool shared)
      : engine_(engine), gather_dim_(gather_dim), algorithm_(shared ? Algorithm::direct : Algorithm::pairwise) {
    const Index ranks = engine.mesh().ranks();
    const Shape whole{arguments.experts, arguments.sequences, arguments.rows, arguments.width};
    const auto make = [&](int cut_dim) {
      Shape shape = whole;
      Index& cut = shape[static_cast<std::size_t>(cut_dim)];
      cut = block(cut, ranks, engine.mesh().rank()).size();
      Tensor tensor = shared ? engine.arena()->allocate(DType::f32, shape) : Tensor(DType::f32, shape);
      std::fill(tensor.view<float>().begin(), tensor.view<float>().end(), 1.0F);
      return tensor;
    };
    in_ = make(gather_dim);
    full_ = make(1 - gather_dim);
    out_ = make(1 - gather_dim);
    const Tensor counts = counts_of(arguments, share);
    const auto local = [&](int cut_dim) {
      std::vector<Range> ranges{{0, arguments.experts}, {0, arguments.sequences}};
      Range& cut = ranges[static_cast<std::size_t>(cut_dim)];
      cut = block(cut.size(), ranks, engine.mesh().rank());
      return counts.slice(ranges);
    };
    before_ = local(gather_dim);
    after_ = local(1 - gather_dim);
  }

  void move_all() {
    collectives::all_to_all(engine_, {"X"}, in_, gather_dim_, 1 - gather_dim_, full_, {.algorithm = algorithm_});
  }
  /// The bytes that left this rank.
  Index move_rows() {
    auto handle = collectives::start_all_to_all_rows(engine_, {"X"}, in_, gather_dim_, out_, {before_, after_},
                                                     {.algorithm = algorithm_});
    handle.wait();
    return handle.wire_bytes();
  }

 private:
  /// Even shares of rows, but for one row more or less.
  static Tensor counts_of(const Arguments& arguments, double share) {
    const CounterRng rng(1, "rows in use");
    Tensor counts(DType::i32, {arguments.experts, arguments.sequences});
    for (Index k = 0; k < counts.size(); ++k) {
      const double wanted = share * static_cast<double>(arguments.rows) + static_cast<double>(rng.below(k, 3)) - 1;
      counts.view<std::int32_t>()[k] =
          static_cast<std::int32_t>(std::clamp(wanted, 0.0, static_cast<double>(arguments.rows)));
    }
    return counts;
  }

  collectives::Engine& engine_;
  int gather_dim_;
  Algorithm algorithm_;
  Tensor in_, full_, out_, before_, after_;
};

void measure(collectives::Engine& engine, const Arguments& arguments, bool shared, int gather_dim, double share) {
  Exchange exchange(engine, arguments, gather_dim, share, shared);
  exchange.move_all();
  const Index bytes = exchange.move_rows();
  std::vector<Seconds> full, rows;
  for (int run = 0; run < arguments.runs; ++run) {
    full.push_back(time_of(engine, [&] { exchange.move_all(); }));
    rows.push_back(time_of(engine, [&] { exchange.move_rows(); }));
  }
  const Seconds fastest_full = *std::min_element(full.begin(), full.end());
  const Seconds fastest_rows = *std::min_element(rows.begin(), rows.end());
  const double most = engine.mesh().comm().max(static_cast<double>(bytes));
  if (engine.mesh().rank() != 0) return;
  std::cout << fmt::format("{:<15}{:<12}{:>9.0f}%{:>12}{:>12}{:>12}{:>9.3f}\n", shared ? "shared memory" : "messages",
                           gather_dim == 1 ? "dispatch" : "combine", 100 * share, to_string(Bytes(most)),
                           to_string(fastest_full), to_string(fastest_rows), fastest_rows / fastest_full)
            << std::flush;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures an all_to_all of the rows in use of experts beside the full all_to_all.", "rows_benchmark"};
  app.add_option("--experts", arguments.experts, "Experts, over all ranks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--sequences", arguments.sequences, "Sequences, over all ranks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rows", arguments.rows, "Rows that an expert has for a sequence")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--width", arguments.width, "Elements of a row, in f32")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--runs", arguments.runs, "Timed runs")->check(CLI::PositiveNumber)->capture_default_str();
  if (!parse_arguments(app, argc, argv)) return 0;
  const mpi::Communicator world = mpi::Communicator::world();
  require(world.size() > 1, "one rank has nothing to exchange; run it under mpirun with 2 or more");
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  const Index cell = arguments.rows * arguments.width * size_of(DType::f32);
  const Index array = arguments.experts * arguments.sequences * cell;
  const Index largest = block(arguments.experts, mesh.ranks(), 0).size() * arguments.sequences +
                        arguments.experts * block(arguments.sequences, mesh.ranks(), 0).size();
  const std::string obstacle = collectives::give_arena(engine, 2 * largest * cell + (Index{1} << 20));
  if (mesh.rank() == 0) {
    std::cout << fmt::format(
        "{} ranks, {} experts, {} sequences, {} rows of {} in f32 ({}); fastest of {} runs, slowest rank\n"
        "{:<15}{:<12}{:>10}{:>12}{:>12}{:>12}{:>9}\n",
        mesh.ranks(), arguments.experts, arguments.sequences, arguments.rows, arguments.width,
        to_string(Bytes(static_cast<double>(array))), arguments.runs, "", "", "in use", "moved", "all rows", "in use",
        "ratio");
    if (!obstacle.empty()) std::cout << "no shared memory: " << obstacle << "\n";
  }
  for (const bool shared : {true, false}) {
    if (shared && !obstacle.empty()) continue;
    for (const int gather_dim : {1, 0}) {
      for (const double share : {0.25, 0.5, 1.0}) measure(engine, arguments, shared, gather_dim, share);
    }
  }
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run(argc, argv); });
}
