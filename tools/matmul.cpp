#include "tools/matmul.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "collectives/all_reduce.h"
#include "collectives/shared/arena.h"
#include "program/partition/check.h"
#include "program/plan/arena_plan.h"
#include "program/run/execute.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "runtime/host/interrupt.h"
#include "runtime/host/memory_limits.h"
#include "tools/options/number_option.h"
#include "tools/options/schedule_options.h"
#include "tools/product/matmul_report.h"
#include "tools/product/product_report.h"
#include "tools/report/report.h"
#include "tools/show.h"
#include "tools/trace/last_run.h"
#include "tools/trace/tracing.h"

namespace shardline::tools {
namespace {

struct MatmulOptions {
  CommonOptions common;
  std::string expression;
  std::string sizes;
  std::string hardware = "cpu";
  Index choose = 1;
  ScheduleFlags schedule;
  bool show = false;
  std::string trace;
  std::string report;
};

/// The number of timed runs, if the first run took `first`: as many as fit into half a second, but
/// five at least, or fewer if that takes too long. A traced product has at most five, and the trace
/// keeps all.
int repetitions(Seconds first, bool traced) {
  constexpr Seconds kEnough{0.5};
  const int least = first < Seconds(2) ? 5 : first < Seconds(10) ? 3 : 1;
  return traced ? least : std::clamp(static_cast<int>(kEnough / first), least, 100);
}

/// A conversion computes nothing, or sums of whole numbers, so it must be exact.
double tolerance(const Product& product, DType dtype) {
  if (product.converts()) return 0;
  return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 1e-5 : 1e-2;
}

/// The memory of rank 0 for the product and its check.
MemoryNeed need_of(const Product& product, const Compiled& compiled) {
  const RankProgram& program = compiled.program();
  const Bytes peak = compiled.liveness().peak(0);
  if (peak > kBeyondAnyMachine) return {.own = peak, .shared = Bytes(0)};  // an arena has no such offsets
  // Operands are made one after another and may then move to the arena. The check comes last.
  Bytes largest;
  for (const ArrayId operand : product.operands) {
    largest = std::max(largest, local_bytes(program, program.inputs.at(operand), 0));
  }
  const Bytes beside = std::max(largest, memory_of_check(product, product.dtype()));
  return {.own = heap_peak(compiled.arena(), compiled.liveness(), 0) + beside,
          .shared = Bytes(static_cast<double>(compiled.arena().total_bytes()))};
}

struct TimedRun {
  Seconds time;       ///< of the slowest rank
  bool stop = false;  ///< some rank was asked to stop
};

/// Collective over all ranks: one run, started together.
TimedRun timed_run(Executor& executor, Job& job) {
  const Axes& all = job.mesh().axes().axes();
  collectives::max_over(job.engine(), all, {0});
  const Seconds begin = now();
  executor.run();
  const double asked = Interruption::asked() ? 1 : 0;
  const std::vector<double> most = collectives::max_over(job.engine(), all, {(now() - begin).value, asked});
  return {Seconds(most[0]), most[1] > 0};
}

/// How the runs ended.
struct Ending {
  bool interrupted = false;  ///< by a signal; then there is no result
  bool traced = true;        ///< the trace was written correctly
};

/// Collective over all ranks: times runs after one warm-up run, until there are enough or a signal
/// asks to stop. Then writes the trace.
Ending run_traced(Job& job, Executor& executor, const std::string& trace, std::vector<Seconds>& runs) {
  Tracing tracing(job, trace, executor.trace(), job.engine());
  const Interruption interruption([&tracing] { tracing.leave_part(); });
  TimedRun latest = timed_run(executor, job);
  const int count = repetitions(latest.time, !trace.empty());
  executor.forget_times();
  executor.set_recording(tracing.recording());
  job.other_work().begin();
  for (int i = 0; i < count && !latest.stop; ++i) {
    latest = timed_run(executor, job);
    runs.push_back(latest.time);
  }
  job.other_work().end();
  executor.set_recording(nullptr);
  executor.align();
  const bool interrupted = latest.stop && static_cast<int>(runs.size()) < count;
  if (interrupted) job.note(fmt::format("interrupted after {} of {} timed runs", runs.size(), count));
  return {interrupted, tracing.write("matmul")};
}

/// Collective over all ranks: runs the chosen candidate. Fills in times and accuracy, unless it is
/// interrupted.
Ending run(Job& job, const MatmulOptions& options, MatmulRecord& record) {
  const Product& product = *record.product;
  const std::vector<GeneratedOperand> operands = generated_operands(product, job.dtype(), job.seed());
  const std::string obstacle = collectives::give_arena(job.engine(), record.compiled->arena().total_bytes());
  if (!obstacle.empty()) job.note(fmt::format("collectives go by messages: {}", obstacle));
  Executor executor(record.compiled, job.engine());
  for (std::size_t i = 0; i < operands.size(); ++i) executor.set(product.operands[i], operands[i].block(job.mesh()));
  const Ending ending = run_traced(job, executor, options.trace, record.runs);
  if (ending.interrupted) return ending;
  record.busiest = job.other_work().busiest();
  record.overlap = measure_overlap(executor.trace(), job.engine());
  const std::vector<Measured> measured = measure(executor.trace(), job.engine());
  for (std::size_t i = 0; i < measured.size(); ++i) record.steps.push_back({executor.trace().labels()[i], measured[i]});
  if (!options.report.empty()) record.timeline = last_run(executor.trace(), job.engine(), job.world());
  record.accuracy = check_against_dense(product, operands, executor.get(product.result), job.mesh());
  return ending;
}

CommandFiles files_of(const MatmulOptions& options) {
  CommandFiles files = files_of(options.common);
  add_trace_files(files, options.trace);
  files.outputs.push_back({"--report", "page", options.report});
  return files;
}

/// The candidates by the prices of --hardware, or of the run.
std::vector<Candidate> candidates_of(const Product& product, const MatmulOptions& options, const Job& job,
                                     const roofline::Hardware& prices) {
  const bool ours = job.given_machine() || options.hardware == prices.name;
  std::vector<Candidate> candidates =
      product.candidates(ours ? prices : roofline::hardware_named(options.hardware, product.mesh, product.dtype()));
  const auto count = static_cast<Index>(candidates.size());
  require(options.choose <= count, "--choose {}: there are candidates 1 to {}", options.choose, count);
  return candidates;
}

/// Says how the machine is shared, and in which types the product is computed.
void introduce(const Job& job, const Product& product) {
  job.introduce();
  if (job.dtype() == DType::bf16 && !product.converts()) {
    job.note(
        fmt::format("bf16: operands are stored, moved and, when owed, reduced in bf16, with sums in f32; products: {}",
                    bf16_products()));
  }
}

/// Prints the result of the run, and writes its record and page.
void report(Job& job, const MatmulOptions& options, const MatmulRecord& record, const roofline::Hardware& hardware) {
  job.print(result_text(record, hardware));
  Json json = job.header("shardline.matmul/1", "matmul");
  add_keys(json, record, hardware);
  job.write_json(json);
  if (!options.report.empty()) job.write_file(options.report, to_html(page_of(job, record)));
}

int matmul(const MatmulOptions& options) {
  const ParsedProduct parsed = parse_product(options.expression);
  const std::map<std::string, Index> sizes = parse_sizes(options.sizes);
  Job job(options.common, files_of(options));
  const Product product = make_product(parsed, sizes, job.mesh().axes(), cpu_types(job.dtype()));
  const roofline::Hardware prices = job.prices();
  std::vector<Candidate> candidates = candidates_of(product, options, job, prices);
  std::vector<std::shared_ptr<Compiled>> compiled;
  for (const Candidate& each : candidates) {
    compiled.push_back(compile(each.program, {.scheduling = schedule_options(options.schedule), .prices = prices}));
  }
  const std::shared_ptr<Compiled>& chosen = compiled[static_cast<std::size_t>(options.choose - 1)];
  check(chosen->program());
  job.require_memory(product.to_string(), need_of(product, *chosen),
                     [](const auto&) { return "smaller dims or more nodes would need less"; });
  introduce(job, product);
  const roofline::Hardware& hardware = job.predictions();
  MatmulRecord record{.product = &product,
                      .candidates = std::move(candidates),
                      .chosen = options.choose,
                      .compiled = chosen,
                      .needs_the_cores = moving_needs_the_cores(product.mesh, prices),
                      .warnings = job.machine_warnings(),
                      .tolerance = tolerance(product, job.dtype())};
  for (const std::shared_ptr<Compiled>& each : compiled) {
    each->predict_by(hardware);
    record.predicted.push_back(predict(*each));
  }
  job.print(derivation_text(product, record.candidates, record.chosen, chosen->schedule(), job.dtype()));
  if (options.show) job.print(pictures(record.program()) + "\n");
  const Ending ending = run(job, options, record);
  if (ending.interrupted) return kInterrupted;
  report(job, options, record, hardware);
  return record.correct() && ending.traced ? 0 : 1;
}

constexpr const char* kMatmulExample = R"(
Example: over the two ranks of axis X both operands are sharded on the dim J that is summed over (case 3), so each rank
multiplies its blocks and the partial sums are added up.

  mpirun -n 2 shardline matmul "A[I, J_X] * B[J_X, K] -> C[I, K]" --mesh X=2 --size I=1024,J=1024,K=1024

prints the program that it derived and ran,

  C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]
  C[I, K] = AllReduce_X(C[I, K]{U_X})

then each of these lines with its time measured and predicted, and how far the result is from a dense product in f64.
With --show also pictures: for every array, in each layout it takes, a grid of its blocks with the ranks that hold them;
2:4 stands for positions 2 and 3, = for a copy of the block, + for another partial sum.
One array alone is converted: "A[I_X, J] -> A[I, J]", or AllGather_X(A[I_X, J]) as programs print it.
Exit code 0: right; 1: wrong; 2: bad usage.)";

}  // namespace

void add_matmul(CLI::App& app, Command& run) {
  CLI::App* command =
      app.add_subcommand("matmul", "Multiply sharded arrays, or move one: derive the program, run, check and time it");
  const auto options = std::make_shared<MatmulOptions>();
  command
      ->add_option("EXPR", options->expression,
                   "The product with its shardings, as in \"A[I, J_X] * B[J_X, K] -> C[I, K]\", or one array and how "
                   "it is wanted, as in \"A[I_X, J] -> A[I, J]\"")
      ->required();
  command->add_option("--size", options->sizes, "Size of every dim, as in I=1024,J=1024,K=1024")->required();
  add_whole_option(
      *command,
      {.name = "--choose",
       .help = "Run the candidate of this number, as explain with the same --hardware or --machine lists them"},
      options->choose);
  add_schedule_options(*command, options->schedule, "");
  add_show_option(*command, options->show);
  add_trace_option(*command, options->trace);
  add_report_option(*command, options->report, "the run");
  add_common_options(*command, options->common);
  add_machine_options(*command, options->common.machine)
      ->excludes(add_hardware_option(*command, options->hardware, "Choose the program by the prices of"));
  command->footer(kMatmulExample);
  command->callback([options, &run] { run = [options] { return matmul(*options); }; });
}

}  // namespace shardline::tools
