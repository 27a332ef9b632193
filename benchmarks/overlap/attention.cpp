// Measures how much of the moving of keys and values ring attention hides. It runs attention over keys that are there
// already, the collectives alone, attention after the collectives, and the ring, in one run under mpirun.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include "benchmarks/command_line.h"
#include "benchmarks/overlap/slowest_rank.h"
#include "collectives/collectives.h"
#include "models/data/token_order.h"
#include "models/training/positions.h"
#include "program/ops/attention.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/run/execute.h"
#include "program/transform/differentiate.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/statistics.h"
#include "runtime/mesh/dist_tensor.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "runtime/trace/clock.h"

namespace shardline {
namespace {

struct Arguments {
  Index tokens = 4096;
  Index heads = 8;
  Index width = 64;
  std::string order = "zigzag";
  double panel = 0;  ///< FLOPs; 0: by price
  int runs = 5;
  bool balance = false;
};

/// Where the keys lie.
enum class Keys : std::uint8_t { here, gathered, ring };

/// Attention, and perhaps its gradient, of one sequence whose tokens the ranks share.
class Case {
 public:
  Case(collectives::Engine& engine, const Arguments& arguments, bool backward, Keys keys)
      : engine_(engine), arguments_(arguments) {
    Program p = program_of(backward);
    std::map<ArrayId, Sharding> layouts;
    for (const std::vector<ArrayId>& arrays : {p.inputs, p.outputs}) {
      for (const ArrayId array : arrays) layouts[array] = layout_of(p.array(array), keys == Keys::here, array);
    }
    RankProgram program =
        partition(p, engine.mesh().axes(),
                  {.layouts = layouts, .work = {{"X", {"T"}}}, .policy = {.activations = Reuse::regather}});
    check(program);
    roofline::Hardware prices{"cpu", FlopsPerSecond(1e11), BytesPerSecond(1e10), Seconds(1e-6), {}};
    prices.links["X"] = {.latency = Seconds(1e-5), .bandwidth = BytesPerSecond(1e8), .frees_cores = true};
    const auto fuse = keys == Keys::ring ? ScheduleOptions::Fuse::always : ScheduleOptions::Fuse::never;
    ScheduleOptions options{.overlap = false, .fuse = fuse};
    if (arguments.panel > 0) options.panel = Flops(arguments.panel);
    executor_ =
        std::make_unique<Executor>(compile(std::move(program), {.scheduling = options, .prices = prices}), engine);
    fill();
  }

  void run() {
    executor_->run();
    executor_->forget_times();
  }

  /// The collectives of the program, alone.
  void communicate() {
    const RankProgram& program = executor_->compiled().program();
    for (const Step& step : program.steps) {
      if (step.kind != StepKind::all_gather && step.kind != StepKind::reduce_scatter) continue;
      Tensor& in = array(program, step.operands[0]);
      Tensor& out = array(program, step.results[0]);
      if (step.kind == StepKind::all_gather) {
        collectives::all_gather(engine_, step.axes, in, step.from_dim, out);
      } else {
        collectives::reduce_scatter(engine_, step.axes, ReduceOp::sum, in, step.to_dim, out);
      }
    }
  }

  const Program& program() const { return executor_->compiled().program().program; }
  const Tensor& result(ArrayId output) const { return executor_->get(output); }

 private:
  /// `here`: every rank has all keys, and the gradients of keys stay owed, so nothing moves.
  Sharding layout_of(const Array& array, bool here, ArrayId id) const {
    Sharding layout = Sharding::replicated(array.dims.size());
    if (here && (id == d_k_ || id == d_v_)) {
      layout.unreduced = {"X"};
    } else if (array.role != Role::positions && !(here && (array.name == "k" || array.name == "v"))) {
      layout.dims[1] = {"X"};
    }
    return layout;
  }

  Program program_of(bool backward) {
    Program p;
    p.sizes = {{"B", 1}, {"T", arguments_.tokens}, {"K", arguments_.heads}, {"G", 1}, {"H", arguments_.width}};
    const ArrayId q = p.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
    const ArrayId k = p.add_input("k", {"B", "T", "K", "H"}, Role::activation);
    const ArrayId v = p.add_input("v", {"B", "T", "K", "H"}, Role::activation);
    const ArrayId positions = p.add_input("positions", {"T"}, Role::positions);
    const ArrayId d_o = backward ? p.add_input("d_o", {"B", "T", "K", "G", "H"}, Role::activation) : ArrayId{-1};
    o_ = attention(p, "o", q, k, v, positions, -1, arguments_.order != "contiguous");
    p.outputs = {o_};
    if (!backward) return p;
    p.region = {Pass::backward, 1};
    const auto gradients = differentiate(p, {{o_, d_o}}, {q, k, v});
    d_k_ = gradients.at(k);
    d_v_ = gradients.at(v);
    p.outputs.insert(p.outputs.end(), {gradients.at(q), d_k_, d_v_});
    return p;
  }

  void fill() {
    const RankProgram& program = executor_->compiled().program();
    for (const auto& [id, version] : program.inputs) {
      const Array& array = program.program.array(id);
      if (array.role == Role::positions) continue;
      const CounterRng rng(3, array.name);
      const ArraySpec spec{array.name, array.dims, array.shape, program.declared.at(id), array.dtype};
      executor_->set(id, DistTensor::make(engine_.mesh(), spec, [&](Index i) { return rng.normal(i); }).local());
    }
    set_positions(*executor_,
                  token_positions(token_order_named(arguments_.order), arguments_.tokens, engine_.mesh().ranks()));
  }

  /// An array of the shape of a version, for communicate().
  Tensor& array(const RankProgram& program, VersionId version) {
    Tensor& made = arrays_[version];
    const Shape shape = local_shape(program, version, engine_.mesh().rank());
    if (made.shape() != shape) made = Tensor::zeros(DType::f32, shape);
    return made;
  }

  collectives::Engine& engine_;
  Arguments arguments_;
  ArrayId o_ = -1, d_k_ = -1, d_v_ = -1;
  std::unique_ptr<Executor> executor_;
  std::map<VersionId, Tensor> arrays_;
};

/// Attention over one length, each way.
struct Ways {
  Ways(collectives::Engine& engine, const Arguments& arguments, bool backward)
      : here(engine, arguments, backward, Keys::here),
        gathered(engine, arguments, backward, Keys::gathered),
        ring(engine, arguments, backward, Keys::ring) {}
  Case here, gathered, ring;
};

/// Chooses the length at which attention takes as long as its collectives.
void balance(collectives::Engine& engine, Arguments& arguments, bool backward) {
  constexpr Index kStep = 64;
  for (int round = 0; round < 6; ++round) {
    Ways ways(engine, arguments, backward);
    std::vector<Seconds> math, comms;
    for (int run = 0; run < 4; ++run) {
      math.push_back(time_of(engine, [&] { ways.here.run(); }));
      comms.push_back(time_of(engine, [&] { ways.gathered.communicate(); }));
    }
    const double ratio = median(comms) / median(math);
    if (std::abs(ratio - 1) < 0.04) return;
    arguments.tokens = std::max<Index>(
        kStep, static_cast<Index>(std::llround(static_cast<double>(arguments.tokens) * ratio / kStep)) * kStep);
  }
}

void measure(collectives::Engine& engine, Arguments arguments, bool backward) {
  if (arguments.balance) balance(engine, arguments, backward);
  Ways ways(engine, arguments, backward);
  ways.gathered.run();
  ways.ring.run();
  for (const ArrayId output : ways.ring.program().outputs) {
    expect_equal(engine, ways.ring.result(output), ways.gathered.result(output),
                 ways.ring.program().array(output).name);
  }
  std::vector<Seconds> math, comms, apart, ring;
  for (int run = 0; run < arguments.runs; ++run) {
    math.push_back(time_of(engine, [&] { ways.here.run(); }));
    comms.push_back(time_of(engine, [&] { ways.gathered.communicate(); }));
    apart.push_back(time_of(engine, [&] { ways.gathered.run(); }));
    ring.push_back(time_of(engine, [&] { ways.ring.run(); }));
  }
  if (engine.mesh().rank() != 0) return;
  const Seconds longer = std::max(median(math), median(comms));
  std::cout << fmt::format("{:<22}{:>8}{:>12}{:>12}{:>12}{:>12}{:>11.3f}{:>10.3f}\n",
                           backward ? "forward and backward" : "forward", arguments.tokens, to_string(median(math)),
                           to_string(median(comms)), to_string(median(apart)), to_string(median(ring)),
                           median(ring) / longer, median(apart) / median(ring))
            << std::flush;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures ring attention: attention and its collectives alone, one after the other, and as a ring.",
               "attention_overlap"};
  app.add_option("--tokens", arguments.tokens, "Tokens of the sequence, over all ranks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--heads", arguments.heads, "Heads of keys; each serves one head of queries")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--width", arguments.width, "Elements of a head")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--order", arguments.order, "How tokens lie: " + token_order_names())->capture_default_str();
  app.add_flag("--balance", arguments.balance, "Change the length until attention takes as long as its collectives");
  app.add_option("--panel", arguments.panel, "FLOPs between two polls; 0: by price")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--runs", arguments.runs, "Timed runs")->check(CLI::PositiveNumber)->capture_default_str();
  if (!parse_arguments(app, argc, argv)) return 0;
  const mpi::Communicator world = mpi::Communicator::world();
  require(world.size() > 1, "one rank has nothing to communicate; run it under mpirun with 2 or more");
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  if (mesh.rank() == 0) {
    std::cout << fmt::format(
        "{} ranks, {} heads of {} in f32, {} order; medians of {} runs, slowest rank\n"
        "{:<22}{:>8}{:>12}{:>12}{:>12}{:>12}{:>11}{:>10}\n",
        mesh.ranks(), arguments.heads, arguments.width, arguments.order, arguments.runs, "", "tokens", "T_math",
        "T_comms", "gathered", "ring", "ring/max", "speed-up");
  }
  for (const bool backward : {false, true}) measure(engine, arguments, backward);
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run(argc, argv); });
}
