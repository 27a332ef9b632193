// Measures how much of its communication a training step hides. It runs the computation, the step's
// collectives alone, the step with every collective in place, and the step as scheduled, in one run
// under mpirun.

#include <CLI/CLI.hpp>
#include <iostream>
#include <vector>

#include "benchmarks/command_line.h"
#include "kernels/gemm/gemm.h"
#include "models/data/byte_data.h"
#include "models/training/training.h"
#include "program/run/conversion_run.h"
#include "program/run/measure.h"
#include "program/run/multiply.h"
#include "runtime/base/check.h"
#include "runtime/base/statistics.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"

namespace shardline {
namespace {

struct Arguments {
  std::string strategy = "fsdp";
  Index batch = 44;
  Index sequence = 128;
  Index layers = 8;
  int distance = 1;
  double panel = 0;
  int runs = 3;
};

/// Weights of some megabytes each, so the buffers of a link hold little of them.
TransformerConfig config_of(const Arguments& arguments) {
  return {.vocab = 256,
          .d_model = 768,
          .layers = arguments.layers,
          .heads = 6,
          .kv_heads = 3,
          .head_dim = 128,
          .d_ff = 2048};
}

/// The collectives of the step, one after another, on arrays of their sizes.
class Communication {
 public:
  Communication(const RankProgram& program, collectives::Engine& engine, DType dtype)
      : program_(program), engine_(engine) {
    for (const Step& step : program.steps) {
      if (!communicates(step.kind)) continue;
      steps_.push_back(&step);
      in_.push_back(Tensor::zeros(dtype, local_shape(program, step.operands[0], engine.mesh().rank())));
      out_.push_back(Tensor::zeros(dtype, local_shape(program, step.results[0], engine.mesh().rank())));
    }
  }

  void run() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      start_conversion(engine_, program_, *steps_[i], {{&in_[i]}, &out_[i]}).wait();
    }
  }

 private:
  const RankProgram& program_;
  collectives::Engine& engine_;
  std::vector<const Step*> steps_;
  std::vector<Tensor> in_;
  std::vector<Tensor> out_;
};

/// Collective over all ranks: the computing time of the slowest rank since the times were
/// forgotten.
Seconds computation(const Trainer& trainer, const mpi::Communicator& comm) {
  const Trace& trace = trainer.executor().trace();
  Seconds sum;
  for (const Span& span : trace.spans()) {
    if (!trace.labels()[static_cast<std::size_t>(span.label)].communicates) sum += span.end - span.begin;
  }
  return Seconds(comm.max(sum.value));
}

/// Collective over all ranks: the time of one run on the slowest rank. All ranks start together.
Seconds timed(Communication& communication, const mpi::Communicator& comm) {
  comm.barrier();
  const Seconds begin = now();
  communication.run();
  return Seconds(comm.max((now() - begin).value));
}

TrainingOptions training_options(const Arguments& arguments, const roofline::Hardware& prices, bool overlap) {
  TrainingOptions options;
  options.batch = {arguments.batch, arguments.sequence};
  options.steps = arguments.runs;
  options.prices = prices;
  options.schedule.overlap = overlap;
  options.schedule.distance = arguments.distance;
  if (arguments.panel > 0) options.schedule.panel = Flops(arguments.panel);
  if (!overlap) options.schedule.bundle_bytes = 0;
  if (!overlap) options.schedule.fuse = ScheduleOptions::Fuse::never;
  return options;
}

void print(const std::vector<Seconds>& math, const std::vector<Seconds>& comms, const std::vector<Seconds>& apart,
           const std::vector<Seconds>& scheduled, const Overlap& overlap) {
  const Seconds t_math = shardline::median(math);
  const Seconds t_comms = shardline::median(comms);
  const Seconds in_place = shardline::median(apart);
  const Seconds beside = shardline::median(scheduled);
  std::cout << fmt::format("{:>10} {:>10} {:>12} {:>12} {:>14} {:>9} {:>8}\n", "T_math", "T_comms", "in place",
                           "scheduled", "scheduled/max", "speed-up", "hidden");
  std::cout << fmt::format("{:>10} {:>10} {:>12} {:>12} {:>14.3f} {:>9.3f} {:>7.0f}%\n", to_string(t_math),
                           to_string(t_comms), to_string(in_place), to_string(beside),
                           beside / std::max(t_math, t_comms), in_place / beside, 100 * overlap.hidden)
            << std::flush;
}

void measure_all(const Arguments& arguments) {
  const mpi::Communicator world = mpi::Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  const roofline::Hardware prices = cpu_hardware(mesh, DType::f32);
  const Strategy strategy = parse_strategy(arguments.strategy, mesh.axes());
  const auto trainer = [&](bool overlap) {
    const TrainingOptions options = training_options(arguments, prices, overlap);
    return Trainer(engine, plan_training({config_of(arguments), options, strategy}, mesh.axes()), prices);
  };
  Trainer apart = trainer(false);
  Trainer scheduled = trainer(true);
  const ByteData data({"text"}, arguments.sequence, 0, [](const std::string&) {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += std::to_string(i * i % 9973) + "\n";
    return text;
  });
  Communication communication(apart.program(), engine, DType::f32);

  std::vector<Seconds> math;
  std::vector<Seconds> comms;
  std::vector<Seconds> in_place;
  std::vector<Seconds> beside;
  for (int i = 0; i <= arguments.runs; ++i) {  // the first run is a warm-up
    apart.forget_times();
    if (i == 0) scheduled.forget_times();
    const Seconds step = apart.step(data, i).time;
    const Seconds computing = computation(apart, world);
    const Seconds other = scheduled.step(data, i).time;
    const Seconds moving = timed(communication, world);
    if (i == 0) continue;
    in_place.push_back(step);
    math.push_back(computing);
    beside.push_back(other);
    comms.push_back(moving);
  }
  const Overlap overlap = measure_overlap(scheduled.executor().trace(), engine);
  if (world.rank() != 0) return;
  std::cout << fmt::format("{} ranks, {}, {} sequences of {} tokens; medians of {} steps, slowest rank\n", world.size(),
                           to_string(strategy), arguments.batch, arguments.sequence, arguments.runs);
  print(math, comms, in_place, beside, overlap);
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures how much of its communication a training step hides.", "training_overlap"};
  app.add_option("--strategy", arguments.strategy, "Roles on the axis X of all ranks")->capture_default_str();
  app.add_option("--batch", arguments.batch, "Sequences a step, over all ranks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seq", arguments.sequence, "Tokens a sequence")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--layers", arguments.layers, "Of the model")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--prefetch", arguments.distance, "Layers by which gathers run ahead and reductions behind")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--panel", arguments.panel, "FLOPs between two polls (default: 20 ms by the built-in prices)")
      ->check(CLI::PositiveNumber);
  app.add_option("--runs", arguments.runs, "Timed steps")->check(CLI::PositiveNumber)->capture_default_str();
  if (!parse_arguments(app, argc, argv)) return 0;
  kernels::set_blas_threads(1);
  measure_all(arguments);
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run(argc, argv); });
}
