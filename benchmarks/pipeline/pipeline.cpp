// Measures whether stages of a pipeline take the time that their timetable is simulated with. The kernels sleep: so
// every task takes the time that is known, whatever else the cores do, and there may be more ranks than cores. Run it
// under mpirun, one rank for each stage.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include "benchmarks/command_line.h"
#include "collectives/run/progress.h"
#include "models/training/made_data.h"
#include "models/training/training.h"
#include "program/cut/write_out.h"
#include "program/timetable/named.h"
#include "runtime/base/check.h"
#include "runtime/base/statistics.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"

namespace shardline {
namespace {

constexpr double kMilli = 1e-3;
constexpr double kSleepRate = 1e9;  ///< FLOP/s of the sleeping kernel: its cost is its time

struct Arguments {
  std::vector<std::string> timetables = {};
  Index micro_batches = 16;
  int layers = 2;       ///< of a stage
  double forward = 20;  ///< milliseconds of a layer, for a micro-batch
  double inputs = 20;   ///< of the gradients of its inputs
  double weights = 20;  ///< of the gradients of its weights
  double slice = 1;     ///< between two polls
  double latency = 1;   ///< of a move, in the simulation
  Index width = 1024;   ///< elements of a token; a micro-batch has 16 tokens
  int runs = 3;
};

constexpr Index kTokens = 16;
const Axis kStages = "Z";

/// Sleeps for the constants "seconds" of the operation, in slices, and polls between them as a product in panels does.
/// The results are zeros.
void sleep_and_poll(const PhaseBlock& block, const KernelArrays& arrays) {
  const Seconds end = now() + Seconds(block.constant("seconds"));
  for (Tensor* result : arrays.results) {
    if (result->bytes() > 0) std::memset(result->data(), 0, static_cast<std::size_t>(result->bytes()));
  }
  while (now() < end) {
    const Seconds slice = std::min(Seconds(block.constant("slice")), end - now());
    std::this_thread::sleep_for(std::chrono::duration<double>(std::max(slice.value, 0.0)));
    collectives::poll_all();
  }
}

constexpr Kernel kSleep{
    .name = "sleep",
    .run = sleep_and_poll,
    .cost =
        [](const PhaseBlock& block) {
          return kernels::Cost{Flops(block.constant("seconds") * kSleepRate), {}};
        },
};

/// A link with a latency alone, and no kernel that takes time but the sleeping one.
roofline::Hardware sleeping_machine(const Arguments& arguments) {
  roofline::Hardware hardware{
      .name = "asleep", .matmul = FlopsPerSecond(1e15), .memory = BytesPerSecond(1e15), .overhead = Seconds(0)};
  hardware.kernels["sleep"] = FlopsPerSecond(kSleepRate);
  hardware.links[kStages] = {Seconds(arguments.latency * kMilli), BytesPerSecond(1e15)};
  return hardware;
}

/// What an operation sleeps. A layer has two products in each of the three groups.
Seconds sleep_of(const Program& program, const Operation& operation, const Arguments& arguments) {
  if (operation.kind != "einsum" || operation.region.pass == Pass::update) return {};
  const Array& result = program.array(operation.results[0]);
  const bool of_weights = result.primal >= 0 && program.array(result.primal).role == Role::parameter;
  const double layer = operation.region.pass == Pass::forward ? arguments.forward
                       : of_weights                           ? arguments.weights
                                                              : arguments.inputs;
  return Seconds(layer * kMilli / 2);
}

/// The same program with kernels that sleep.
RankProgram put_to_sleep(RankProgram program, const Arguments& arguments) {
  for (Operation& operation : program.program.operations) {
    operation.constants["seconds"] = sleep_of(program.program, operation, arguments).value;
    operation.constants["slice"] = arguments.slice * kMilli;
    for (Phase& phase : operation.phases) phase.kernel = &kSleep;
  }
  return program;
}

TrainingRun training_run(const Arguments& arguments, const std::string& timetable, const AbstractMesh& mesh) {
  const auto stages = static_cast<int>(mesh.size(kStages));
  TrainingRun run{.config = MlpConfig{.d_model = arguments.width, .d_ff = 8, .layers = stages * arguments.layers},
                  .options = {},
                  .strategy = parse_strategy("pp=" + kStages, mesh)};
  const int chunks_per_stage = timetable_row(timetable).chunks_per_stage;
  require(arguments.layers % chunks_per_stage == 0, "{} layers a stage; timetable {} needs a multiple of {}",
          arguments.layers, timetable, chunks_per_stage);
  run.options.batch = {arguments.micro_batches * kTokens, 1};
  run.options.form.micro_batches = arguments.micro_batches;
  run.options.optimizer = PlainDescent{};
  run.options.prices = sleeping_machine(arguments);
  run.options.pipeline.timetable = timetable;
  run.options.pipeline.layers.assign(static_cast<std::size_t>(stages * chunks_per_stage),
                                     arguments.layers / chunks_per_stage);
  return run;
}

/// The plan of a run whose kernels sleep.
TrainingPlan sleeping_plan(const TrainingRun& run, const AbstractMesh& mesh, const Arguments& arguments) {
  TrainingPlan plan = plan_training(run, mesh);
  const TrainingOptions& options = run.options;
  plan.pipeline = plan_pipeline(put_to_sleep(*plan.pipeline->micro, arguments), options.pipeline, kStages,
                                static_cast<int>(mesh.size(kStages)), options.form.micro_batches, options.prices);
  const Cut cut = plan.pipeline->cut();
  for (int stage = 0; stage < cut.stages(); ++stage) {
    WrittenOut step = write_out(cut, {.axis = kStages,
                                      .stage = stage,
                                      .micro_batches = options.form.micro_batches,
                                      .events = plan.pipeline->events});
    plan.stages[static_cast<std::size_t>(stage)].step =
        compile(std::move(step.program), {.scheduling = options.schedule, .prices = options.prices});
  }
  return plan;
}

/// Collective over the job: a line for a timetable.
std::string measured_line(const Arguments& arguments, const std::string& timetable, collectives::Engine& engine) {
  const AbstractMesh& mesh = engine.mesh().axes();
  const TrainingRun run = training_run(arguments, timetable, mesh);
  Trainer trainer(engine, sleeping_plan(run, mesh, arguments), run.options.prices);
  const MadeData data(arguments.width, 0);
  std::vector<Seconds> times;
  for (int i = 0; i <= arguments.runs; ++i) {  // the first run is a warm-up
    const Seconds time = trainer.step(data, i).time;
    if (i > 0) times.push_back(time);
  }
  const Seconds simulated = trainer.predicted_step();
  const Seconds measured = median(times);
  return fmt::format("{:<15} {:>10} {:>10} {:>10} {:>10} {:>7.3f}", timetable, to_string(simulated),
                     to_string(measured), to_string(quantile(times, 1e-6)), to_string(quantile(times, 1)),
                     measured / simulated);
}

void measure_all(Arguments arguments) {
  const mpi::Communicator world = mpi::Communicator::world();
  const Mesh mesh(AbstractMesh({{kStages, world.size()}}), world);
  collectives::Engine engine(mesh);
  if (arguments.timetables.empty()) {
    for (const TimetableRow& row : timetable_rows()) arguments.timetables.emplace_back(row.name);
  }
  const auto print = [&](const std::string& line) {
    if (world.rank() == 0) std::cout << line << std::endl;
  };
  print(
      fmt::format("{} stages of {} layers, {} micro-batches; a layer takes {} ms forward, {} for its inputs' "
                  "gradients and {} for its weights'; {} steps, slowest rank",
                  world.size(), arguments.layers, arguments.micro_batches, arguments.forward, arguments.inputs,
                  arguments.weights, arguments.runs));
  print(fmt::format("{:<15} {:>10} {:>10} {:>10} {:>10} {:>7}", "timetable", "simulated", "median", "least", "most",
                    "ratio"));
  for (const std::string& timetable : arguments.timetables) print(measured_line(arguments, timetable, engine));
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures the steps of pipelines with kernels that sleep, beside the simulation of their timetables.",
               "pipeline_benchmark"};
  const auto add = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->check(CLI::PositiveNumber)->capture_default_str();
  };
  app.add_option("--timetable", arguments.timetables, "By name; default: all")->delimiter(',');
  add("--micro-batches", arguments.micro_batches, "Of a step");
  add("--layers", arguments.layers, "Of a stage; even, where a stage has two chunks");
  add("--forward", arguments.forward, "Milliseconds of the forward pass of a layer");
  add("--inputs", arguments.inputs, "Milliseconds of the gradients of its inputs");
  add("--weights", arguments.weights, "Milliseconds of the gradients of its weights");
  add("--slice", arguments.slice, "Milliseconds between two polls");
  add("--latency", arguments.latency, "Milliseconds of a move, in the simulation");
  add("--width", arguments.width, "Elements of a token that moves; a micro-batch has 16 tokens");
  add("--runs", arguments.runs, "Timed steps");
  if (!parse_arguments(app, argc, argv)) return 0;
  measure_all(arguments);
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run(argc, argv); });
}
