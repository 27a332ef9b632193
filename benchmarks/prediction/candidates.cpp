// Checks that prices rank the ways to compute a product as their times do. Every candidate of some
// products runs. The fastest must be among those with the best prices.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "benchmarks/command_line.h"
#include "collectives/all_reduce.h"
#include "collectives/shared/arena.h"
#include "program/ir/print.h"
#include "program/product/product.h"
#include "program/run/execute.h"
#include "program/run/multiply.h"
#include "roofline/machine/machine_file.h"
#include "runtime/base/check.h"
#include "runtime/base/statistics.h"
#include "runtime/host/files.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "runtime/trace/clock.h"
#include "tools/job_machine.h"
#include "tools/memory.h"
#include "tools/product/generated_operand.h"

namespace shardline {
namespace {

constexpr std::size_t kAmong = 2;    ///< the fastest must be among this many of the best prices
constexpr double kSamePrice = 0.01;  ///< smaller price differences give no order

struct Arguments {
  std::string machine;
  int runs = 7;
  double tolerance = 0.05;
};

struct Question {
  const char* text;
  const char* sizes;
  DType dtype = DType::f32;
};

/// Square products; products thin in each dim; operands replicated, owed or sharded alike; results
/// in another layout.
const std::vector<Question>& questions() {
  static const std::vector<Question> all = {
      {"A[I, J] * B[J, K] -> C[I_X, K]", "I=4096,J=4096,K=16"},
      {"A[I, J] * B[J, K] -> C[I, K_X]", "I=16,J=4096,K=4096"},
      {"A[I, J] * B[J, K] -> C[I, K]", "I=4096,J=16,K=2048"},
      {"A[I, J] * B[J, K] -> C[I, K]", "I=1024,J=1024,K=1024"},
      {"A[I, J] * B[J, K] -> C[I_X, K]", "I=1024,J=1024,K=1024", DType::f64},
      {"A[I, J_X] * B[J_X, K] -> C[I, K]", "I=1024,J=1024,K=1024"},
      {"A[I, J_X] * B[J_X, K] -> C[I, K]", "I=2048,J=64,K=2048"},
      {"A[I, J_X] * B[J_X, K] -> C[I_X, K]", "I=256,J=8192,K=256"},
      {"A[I, J_X] * B[J, K] -> C[I, K]", "I=2048,J=2048,K=32"},
      {"A[I, J_X] * B[J, K] -> C[I, K]", "I=32,J=4096,K=2048", DType::f64},
      {"A[I_X, J] * B[J_X, K] -> C[I_X, K]", "I=4096,J=1024,K=64"},
      {"A[I_X, J] * B[J_X, K] -> C[I_X, K]", "I=64,J=2048,K=2048"},
      {"A[I_X, J] * B[J, K_X] -> C[I_X, K]", "I=2048,J=2048,K=64"},
      {"A[I_X, J] * B[J, K_X] -> C[I, K_X]", "I=2048,J=512,K=2048"},
      {"A[I_X, J] * B[J, K_X] -> C[I, K]", "I=2048,J=64,K=2048"},
      {"A[I, J]{U_X} * B[J, K] -> C[I, K]", "I=2048,J=2048,K=32"},
      {"A[I, J]{U_X} * B[J, K] -> C[I_X, K]", "I=64,J=2048,K=2048"},
      {"A[I, J_X] * B[J, K] -> C[I, K]{U_X}", "I=64,J=4096,K=2048"},
      {"A[I, J] * B[J, K] -> C[I_X, K]", "I=2048,J=2048,K=64", DType::bf16},
      {"A[I_X, J] * B[J_X, K] -> C[I, K]", "I=1024,J=1024,K=1024", DType::bf16},
  };
  return all;
}

/// One way to compute a product, ready to run.
class Contender {
 public:
  Contender(const Product& product, const Candidate& candidate, const roofline::Hardware& prices)
      : product_(product),
        price_(candidate.price.total),
        compiled_(compile(candidate.program, {.scheduling = ScheduleOptions(), .prices = prices})) {}

  Seconds price() const { return price_; }
  Index arena_bytes() const { return compiled_->arena().total_bytes(); }

  /// Collective over the mesh of `engine`.
  void prepare(collectives::Engine& engine, const std::vector<tools::GeneratedOperand>& operands) {
    executor_.emplace(compiled_, engine);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      executor_->set(product_.operands[i], operands[i].block(engine.mesh()));
    }
  }

  /// Collective over the mesh of `engine`: the time of one run on the slowest rank. All ranks start
  /// together. One run before it does not count: it leaves the caches as in a program that repeats.
  void run(collectives::Engine& engine) {
    executor_->run();
    collectives::max_over(engine, engine.mesh().axes().axes(), {0});
    const Seconds begin = now();
    executor_->run();
    times_.emplace_back(collectives::max_over(engine, engine.mesh().axes().axes(), {(now() - begin).value})[0]);
  }

  Seconds median() const { return shardline::median(times_); }
  /// The steps beside its product.
  std::string text() const {
    std::string moves;
    for (const Step& step : compiled_->program().steps) {
      if (step.kind == StepKind::compute) continue;
      const std::string line = to_string(compiled_->program(), step);
      moves += (moves.empty() ? "" : ", ") + line.substr(line.find(" = ") + 3);
    }
    return moves.empty() ? "no conversion" : moves;
  }

 private:
  const Product& product_;
  Seconds price_;
  std::shared_ptr<const Compiled> compiled_;
  std::optional<Executor> executor_;
  std::vector<Seconds> times_;
};

void print(const collectives::Engine& engine, const std::string& text) {
  if (engine.mesh().rank() == 0) std::cout << text << std::flush;
}

/// Collective over the mesh of `engine`: runs all candidates in turn in every round. True if a
/// candidate with the best time, or close to it, is among those with the best prices.
bool answer(const Question& question, const Arguments& arguments, const roofline::Hardware& prices,
            collectives::Engine& engine) {
  const AbstractMesh& mesh = engine.mesh().axes();
  const Product product =
      make_product(parse_product(question.text), parse_sizes(question.sizes), mesh, cpu_types(question.dtype));
  std::deque<Contender> contenders;
  Index bytes = 0;
  for (const Candidate& candidate : product.candidates(prices)) {
    bytes += contenders.emplace_back(product, candidate, prices).arena_bytes();
  }
  const std::string obstacle = collectives::give_arena(engine, bytes);
  if (!obstacle.empty()) print(engine, fmt::format("collectives go by messages: {}\n", obstacle));
  const std::vector<tools::GeneratedOperand> operands = tools::generated_operands(product, question.dtype, 1);
  for (Contender& contender : contenders) contender.prepare(engine, operands);
  for (int run = 0; run < arguments.runs; ++run) {
    for (Contender& contender : contenders) contender.run(engine);
  }

  Seconds best = contenders[0].median();
  for (const Contender& contender : contenders) best = std::min(best, contender.median());
  std::size_t rank = 0;  // by price, of the first candidate as fast as the best
  while (contenders[rank].median() > best * (1 + arguments.tolerance)) ++rank;
  const Seconds last = contenders[std::min(kAmong, contenders.size()) - 1].price();
  const bool good = contenders[rank].price() <= last * (1 + kSamePrice);
  print(engine, fmt::format("{}, {}, {}\n", question.text, question.sizes, name_of(question.dtype)));
  for (const Contender& contender : contenders) {
    print(engine, fmt::format("  {:>10} {:>10} {}  {}\n", to_string(contender.price()), to_string(contender.median()),
                              contender.median() <= best * (1 + arguments.tolerance) ? '*' : ' ', contender.text()));
  }
  print(engine, fmt::format("  {}: as fast as the best is number {} of {} by price\n\n", good ? "good" : "WRONG",
                            rank + 1, contenders.size()));
  return good;
}

/// The prices that choose programs: those of the file, else built-in ones. Products of bf16 compute
/// in f32.
roofline::Hardware prices_of(const Arguments& arguments, const Mesh& mesh, DType dtype) {
  const DType computed = dtype == DType::bf16 ? DType::f32 : dtype;
  if (arguments.machine.empty()) return cpu_hardware(mesh, computed);
  const roofline::Machine machine = roofline::parse_machine(read_file(arguments.machine), arguments.machine);
  return roofline::hardware_of(machine, mesh.axes(), computed);
}

/// Collective over all ranks. Returns the exit code.
int run(const Arguments& arguments) {
  require(arguments.runs >= 1, "--runs {}: at least 1 is needed", arguments.runs);
  const mpi::Communicator world = mpi::Communicator::world();
  const tools::JobMachine machine = tools::share_machine(world, 1);
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  Index good = 0;
  for (const Question& question : questions()) {
    collectives::Engine engine(mesh);
    if (&question == &questions().front()) {
      print(engine,
            fmt::format("{} ranks on {}, {}, prices: {}\nprice, median of {} runs, * within {:.0f}% of the best, "
                        "what it does beside its product\n\n",
                        world.size(), machine.host, machine.blas,
                        arguments.machine.empty() ? "built in" : arguments.machine, arguments.runs,
                        100 * arguments.tolerance));
      if (!machine.timing_fault.empty())
        print(engine, fmt::format("timings are not valid: {}\n", machine.timing_fault));
    }
    good += answer(question, arguments, prices_of(arguments, mesh, question.dtype), engine) ? 1 : 0;
  }
  const auto count = static_cast<Index>(questions().size());
  if (world.rank() == 0) {
    fmt::print("{} of {} products: a candidate within {:.0f}% of the fastest is among the {} that are priced best\n",
               good, count, 100 * arguments.tolerance, kAmong);
  }
  return good == count ? 0 : 1;
}

/// Runs on every rank.
int run_command(int argc, char** argv) {
  CLI::App app{"All candidates of twenty products beside their prices; run it under mpirun.", "candidates_benchmark"};
  Arguments arguments;
  app.add_option("--machine", arguments.machine, "Prices of this machine file instead of the built-in ones");
  app.add_option("--runs", arguments.runs, "Timed runs of each candidate")->capture_default_str();
  app.add_option("--tolerance", arguments.tolerance, "As fast as the best: up to this share slower")
      ->capture_default_str();
  if (!parse_arguments(app, argc, argv)) return 0;
  return run(arguments);
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  shardline::tools::keep_freed_memory();
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run_command(argc, argv); });
}
