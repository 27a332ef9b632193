// Measures whether training steps on stages take the time that their timetable is simulated with. The products sleep:
// so every task takes the time that is known, whatever else the cores do, and there may be more ranks than cores. Of
// several strategies it also tells whether the one with the shortest prediction is the fastest. Run it under mpirun.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include "benchmarks/command_line.h"
#include "collectives/run/progress.h"
#include "collectives/shared/arena.h"
#include "models/data/made_data.h"
#include "models/training/pipeline_search.h"
#include "models/training/training.h"
#include "program/timetable/named.h"
#include "runtime/base/check.h"
#include "runtime/base/statistics.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"

namespace shardline {
namespace {

struct Arguments {
  std::string mesh = {};                     ///< empty: all ranks on axis Z
  std::vector<std::string> strategies = {};  ///< empty: pp=Z
  std::vector<std::string> inside = {};      ///< axes within a host, where messages take no more than their latency
  std::vector<std::string> timetables = {};  ///< empty: all
  bool fastest = false;                      ///< one line for each strategy: the fastest of all that fits
  Index micro_batches = 16;                  ///< if `fastest`: the most
  Index batch = 256;                         ///< rows of a step
  Index layers = 8;
  Index d_model = 1024;
  Index d_ff = 8;
  double mflops = 26;      ///< MFLOP/s of a rank
  double latency = 1;      ///< milliseconds of a message, in the simulation
  double bandwidth = 1e6;  ///< MB/s of a link each way, in the simulation
  double memory = 0;       ///< MB for the arrays of a rank; 0: enough
  int runs = 3;
};

constexpr Seconds kSlice(1e-3);  ///< between two polls

/// The FLOPs of a product. The rate stands among the constants of the operation; none: it takes no time.
kernels::Cost cost_asleep(const PhaseBlock& block) {
  if (block.constant("rate") == 0) return {};
  Shape extents;
  for (const Range& range : block.ranges) extents.push_back(range.size());
  return {kernels::einsum_cost(extents, block.phase.operand_subscripts, block.phase.result_subscripts[0], 0).flops, {}};
}

/// Sleeps for the time of the product, in slices, and polls between them as a product in panels does. The results are
/// zeros.
void sleep_and_poll(const PhaseBlock& block, const KernelArrays& arrays) {
  const Seconds begin = now();
  for (Tensor* result : arrays.results) {
    if (result->bytes() > 0) std::memset(result->data(), 0, static_cast<std::size_t>(result->bytes()));
  }
  const double rate = block.constant("rate");
  const Seconds end = begin + (rate == 0 ? Seconds(0) : cost_asleep(block).flops / FlopsPerSecond(rate));
  for (Seconds time = begin; time < end; time = now()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(kSlice, end - time).value));
    collectives::poll_all();
  }
}

constexpr Kernel kSleep{.name = "sleep", .run = sleep_and_poll, .cost = cost_asleep};

/// The same program with kernels that sleep.
RankProgram put_to_sleep(RankProgram program, FlopsPerSecond rate) {
  for (Operation& operation : program.program.operations) {
    for (Phase& phase : operation.phases) {
      operation.constants["rate"] = phase.kernel->form == KernelForm::product ? rate.value : 0;
      phase.kernel = &kSleep;
    }
  }
  return program;
}

/// Products have a rate and links what the arguments say. All else takes no time.
roofline::Hardware sleeping_machine(const Arguments& arguments, const RankProgram& program, const AbstractMesh& mesh) {
  constexpr double kFast = 1e30;
  const FlopsPerSecond rate(arguments.mflops * 1e6);
  roofline::Hardware hardware{
      .name = "asleep", .matmul = rate, .memory = BytesPerSecond(kFast), .overhead = Seconds(0)};
  hardware.polled = false;  // what sleeps is not cut into panels
  for (const Operation& operation : program.program.operations) {
    for (const Phase& phase : operation.phases) {
      if (phase.kernel->form != KernelForm::product) {
        hardware.kernels[std::string(phase.kernel->name)] = FlopsPerSecond(kFast);
      }
    }
  }
  hardware.kernels["sleep"] = rate;
  for (const Axis& axis : mesh.axes()) {
    const bool inside = std::count(arguments.inside.begin(), arguments.inside.end(), axis) > 0;
    hardware.links[axis] = {.latency = Seconds(arguments.latency * 1e-3),
                            .bandwidth = BytesPerSecond(inside ? kFast : arguments.bandwidth * 1e6),
                            .switched = !inside && !arguments.inside.empty()};  // if not: wires to neighbours
  }
  return hardware;
}

TrainingRun training_run(const Arguments& arguments, const Strategy& strategy, const AbstractMesh& mesh) {
  TrainingRun run{.config = MlpConfig{.d_model = arguments.d_model, .d_ff = arguments.d_ff, .layers = arguments.layers},
                  .options = {},
                  .strategy = strategy};
  run.options.batch = {arguments.batch, 1};
  run.options.form.micro_batches = arguments.micro_batches;
  run.options.optimizer = PlainDescent{};
  run.options.schedule.fuse = ScheduleOptions::Fuse::never;  // what sleeps is no product any more
  const Axis stages = stage_axis(strategy, mesh);
  const RankProgram any = micro_step(run, stages.empty() ? mesh : mesh.without(stages)).program;
  run.options.prices = sleeping_machine(arguments, any, mesh);
  return run;
}

/// The plan of a run whose kernels sleep.
TrainingPlan sleeping_plan(const TrainingRun& run, const AbstractMesh& mesh) {
  TrainingPlan plan = plan_training(run, mesh);
  for (StagePrograms& stage : plan.stages) {
    stage.step = compile(put_to_sleep(stage.step->program(), run.options.prices.matmul),
                         {.scheduling = run.options.schedule, .prices = run.options.prices});
  }
  return plan;
}

/// The most bytes of arrays of a rank.
Bytes peak_of(const TrainingPlan& plan) {
  Bytes most;
  for (const StagePrograms& stage : plan.stages) most = std::max(most, stage.step->liveness().peak(0));
  return most;
}

/// Without stages: the number of micro-batches with the shortest prediction of those that fit.
TrainingRun fastest_without_stages(const TrainingRun& run, const AbstractMesh& mesh, Bytes memory) {
  TrainingRun best = run;
  std::optional<Seconds> least;
  TrainingRun way = run;
  for (Index& count = way.options.form.micro_batches = 1; count <= run.options.form.micro_batches; count *= 2) {
    const TrainingPlan plan = sleeping_plan(way, mesh);
    plan.stages[0].step->predict_by(run.options.prices);
    const Seconds time = plan.stages[0].step->time().total;
    if (peak_of(plan) > memory || (least && *least <= time)) continue;
    least = time;
    best = way;
  }
  require(least.has_value(), "no number of micro-batches up to {} fits in {}", run.options.form.micro_batches,
          to_string(memory));
  return best;
}

/// The runs to measure.
std::vector<TrainingRun> runs_of(const Arguments& arguments, const std::string& text, const AbstractMesh& mesh) {
  const Strategy strategy = parse_strategy(text, mesh);
  TrainingRun run = training_run(arguments, strategy, mesh);
  const bool staged = !stage_axis(strategy, mesh).empty();
  const Bytes memory(arguments.memory == 0 ? 1e15 : arguments.memory * 1e6);
  if (arguments.fastest && !staged) return {fastest_without_stages(run, mesh, memory)};
  if (arguments.fastest) {
    run = fastest_pipeline(run, mesh, {.timetable = true, .micro_batches = true, .memory = memory});
    require(peak_of(sleeping_plan(run, mesh)) <= memory, "no timetable fits in {}", to_string(memory));
    return {run};
  }
  if (!staged) return {run};
  std::vector<TrainingRun> runs;
  for (const std::string& timetable : arguments.timetables) {
    run.options.pipeline.timetable = timetable;
    runs.push_back(run);
  }
  return runs;
}

struct Result {
  std::string strategy;
  Seconds simulated;
  Seconds measured;
};

/// Collective over the job: measures a run, and rank 0 prints its line.
Result measure(const Arguments& arguments, const TrainingRun& run, collectives::Engine& engine) {
  Trainer trainer(engine, sleeping_plan(run, engine.mesh().axes()), run.options.prices);
  const MadeData data(arguments.d_model, 0);
  std::vector<Seconds> times;
  for (int i = 0; i <= arguments.runs; ++i) {  // the first run is a warm-up
    const Seconds time = trainer.step(data, i).time;
    if (i > 0) times.push_back(time);
  }
  const Result result{to_string(run.strategy), trainer.predicted_step(), median(times)};
  if (engine.mesh().rank() == 0) {
    std::cout << fmt::format(
                     "{:<12} {:<15} {:>3} {:>9} {:>10} {:>10} {:>10} {:>10} {:>6.3f}", result.strategy,
                     trainer.plan().pipeline ? run.options.pipeline.timetable : "-", run.options.form.micro_batches,
                     to_string(peak_of(trainer.plan())), to_string(result.simulated), to_string(result.measured),
                     to_string(*std::min_element(times.begin(), times.end())),
                     to_string(*std::max_element(times.begin(), times.end())), result.measured / result.simulated)
              << std::endl;
  }
  return result;
}

void print_choice(const std::vector<Result>& results) {
  const auto least = [&](auto time) {
    return std::min_element(results.begin(), results.end(),
                            [=](const Result& a, const Result& b) { return a.*time < b.*time; })
        ->strategy;
  };
  std::cout << fmt::format("fastest by prediction: {}; as measured: {}", least(&Result::simulated),
                           least(&Result::measured))
            << std::endl;
}

void measure_all(Arguments arguments) {
  const mpi::Communicator world = mpi::Communicator::world();
  const AbstractMesh axes =
      arguments.mesh.empty() ? AbstractMesh({{"Z", world.size()}}) : AbstractMesh::parse(arguments.mesh);
  const Mesh mesh(axes, world);
  collectives::Engine engine(mesh);
  collectives::give_arena(engine, 64);  // too small for any array: ranks send messages, as between hosts
  if (arguments.strategies.empty()) arguments.strategies = {"pp=Z"};
  if (arguments.timetables.empty()) {
    for (const TimetableRow& row : timetable_rows()) arguments.timetables.emplace_back(row.name);
  }
  if (world.rank() == 0) {
    std::cout << fmt::format("mesh {}, {} layers, {} rows a step; {} steps, slowest rank\n", axes.to_string(),
                             arguments.layers, arguments.batch, arguments.runs);
    std::cout << fmt::format("{:<12} {:<15} {:>3} {:>9} {:>10} {:>10} {:>10} {:>10} {:>6}", "strategy", "timetable",
                             "M", "arrays", "simulated", "median", "least", "most", "ratio")
              << std::endl;
  }
  std::vector<Result> results;
  for (const std::string& strategy : arguments.strategies) {
    for (const TrainingRun& run : runs_of(arguments, strategy, axes))
      results.push_back(measure(arguments, run, engine));
  }
  if (world.rank() == 0 && arguments.strategies.size() > 1) print_choice(results);
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Measures training steps whose products sleep, beside the simulation of their timetables.",
               "pipeline_benchmark"};
  const auto add = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->check(CLI::PositiveNumber)->capture_default_str();
  };
  app.add_option("--mesh", arguments.mesh, "Axes; default: all ranks on Z");
  app.add_option("--strategy", arguments.strategies, "Roles on the axes, once or more; default: pp=Z");
  app.add_option("--inside", arguments.inside, "Axes within a host: their bandwidth does not count")->delimiter(',');
  app.add_option("--timetable", arguments.timetables, "By name; default: all")->delimiter(',');
  app.add_flag("--fastest", arguments.fastest, "Of each strategy, the fastest by prediction that fits in --memory");
  add("--micro-batches", arguments.micro_batches, "Of a step; with --fastest: at most, without stages");
  add("--batch", arguments.batch, "Rows of a step");
  add("--layers", arguments.layers, "Of two products each");
  add("--d-model", arguments.d_model, "Elements of a row");
  add("--d-ff", arguments.d_ff, "Elements between the products");
  add("--mflops", arguments.mflops, "MFLOP/s of a rank");
  add("--latency", arguments.latency, "Milliseconds of a message, in the simulation");
  add("--bandwidth", arguments.bandwidth, "MB/s of a link each way, in the simulation");
  add("--memory", arguments.memory, "MB for the arrays of a rank");
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
