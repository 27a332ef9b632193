#include "tools/train.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/digests.h"
#include "models/checkpoint/step_folders.h"
#include "models/training/training.h"
#include "program/plan/fused_lines.h"
#include "program/run/measure.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/base/statistics.h"
#include "runtime/host/files.h"
#include "runtime/host/interrupt.h"
#include "tools/job.h"
#include "tools/options/schedule_options.h"
#include "tools/output/text.h"
#include "tools/report/plot.h"
#include "tools/report/report.h"
#include "tools/trace/last_run.h"
#include "tools/trace/tracing.h"
#include "tools/training/joined_steps.h"
#include "tools/training/run_steps.h"
#include "tools/training/schedule_text.h"
#include "tools/training/task_times.h"
#include "tools/training/train_data.h"
#include "tools/training/train_plan.h"
#include "tools/training/train_report.h"

namespace shardline::tools {
namespace {

constexpr const char* kTrainFooter = R"(Example:
  mpirun -n 4 shardline train --mesh X=2,Y=2 --strategy fsdp=X,tp=Y --save build/model
  mpirun -n 2 shardline train --model config.json --data 'tokens/*.bin' --seq 1024
  mpirun -n 2 shardline train --load build/model --data sums.jsonl --mask-prompt --seq 32 --lr 1e-4
  mpirun -n 2 shardline train --model mlp --size B=4096,D=1024,F=4096,L=2 --strategy dp

Roles of --strategy: dp, zero1, zero2, fsdp, tp, tp_seq, tp_g, cp, cp_fsdp, cp_heads, ep, ep_fsdp, tp_ep, pp, each on one
mesh axis; "fsdp+tp" is fsdp=X,tp=Y. "auto" prices every way to give the axes roles, by the figures of --machine or else by built-in values, and takes the
cheapest that fits. --model mlp is the MLP of section 5.1 of the book, without sequences; it trains on made rows, and
its program is printed line by line with the times of every line. Other models read text as bytes or by --tokenizer,
files of tokens (.bin), or lines {"prompt": "2 + 3 = ", "answer": "5"} (.jsonl), and the last tenth of each file is held
out for the loss at the end. There is no dropout.)";

/// The median over the last `kept` steps, those whose spans are kept.
Seconds median_time(const std::vector<StepResult>& steps, std::size_t kept) {
  std::vector<Seconds> times;
  for (std::size_t i = steps.size() - kept; i < steps.size(); ++i) times.push_back(steps[i].time);
  return median(std::move(times));
}

/// The number of the last step that is done, from 1.
Index last_step(const Trainer& trainer, const Progress& progress) {
  return trainer.run().begin.steps + static_cast<Index>(progress.steps.size());
}

/// Collective over all ranks: trains and writes the trace. A request to stop ends the training after the current step.
/// The second value is false if the trace could not be written. Throws ResultError, and writes nothing, if the training
/// diverged.
std::pair<Progress, bool> run_traced(Job& job, const std::string& trace, Trainer& trainer, const SampleSource& data,
                                     const RunOutputs& outputs, Interruption& interruption) {
  Tracing tracing(job, trace, trainer.executor().trace(), trainer.engine(), traced_stage(job, trainer));
  interruption.set_overdue([&tracing] { tracing.leave_part(); });
  struct WhileTraced {  // ends before `tracing`, also when the run fails
    Interruption& interruption;
    ~WhileTraced() { interruption.set_overdue({}); }
  } const traced{interruption};
  trainer.set_recording(tracing.recording());
  job.other_work().begin();
  const Progress progress = run_steps(job, trainer, data, outputs);
  job.other_work().end();
  trainer.set_recording(nullptr);
  trainer.align();
  const std::string wrong = trainer.non_finite_parameter();
  if (!wrong.empty()) {
    throw ResultError(fmt::format("after step {}: {}{}", last_step(trainer, progress), wrong, kDiverged));
  }
  if (progress.interrupted) {
    job.note(fmt::format("interrupted after step {} of {}", last_step(trainer, progress), trainer.options().steps));
  }
  return {progress, tracing.write("train")};
}

/// True if the run goes on from a checkpoint in this folder.
bool resumes_from(const std::string& folder, const std::string& resumed) {
  namespace fs = std::filesystem;
  if (resumed.empty()) return false;
  const fs::path from = fs::weakly_canonical(resumed), here = fs::weakly_canonical(folder);
  return from == here || from.parent_path() == here;
}

/// Collective over all ranks: refuses a folder that cannot hold the model, or that holds the checkpoints of another
/// run, before the training begins.
void probe_folder(const Job& job, const TrainOptions& options) {
  mpi::on_root(job.world(), 0, [&] {
    const std::string& folder = options.save;
    require(!has_checkpoint(folder) || resumes_from(folder, options.checkpoints.resume),
            "--save {}: holds checkpoints of another run; --resume {} goes on from them, or name another folder",
            folder, folder);
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    require(std::filesystem::is_directory(folder), "--save {}: cannot make the folder: {}", folder, failure.message());
    const WholeFile writable(folder + "/model.safetensors");
    return std::string();
  });
}

/// The number of runs in the trace.
int runs_of(const Trace& trace) {
  return trace.labels().empty() ? 1 : static_cast<int>(trace.spans().size() / trace.labels().size());
}

/// Collective over all ranks: the loss on held-out samples, into the record.
void evaluate(Trainer& trainer, const TrainData& data, TrainRecord& record) {
  Index read = 0;
  record.val_loss = trainer.evaluate(*data.samples, evaluation_batches(trainer.options().steps), read);
  if (data.bigram_loss) record.bigram_loss = data.bigram_loss(read);
  record.uniform_loss = data.uniform_loss;
  if (!std::isfinite(*record.val_loss)) {
    throw ResultError(fmt::format("held-out loss {}{}", loss_number(*record.val_loss), kDiverged));
  }
}

/// Of the steps whose spans are kept, the one of median time; of two, the faster one.
ShownStep median_step(const std::vector<StepResult>& steps, std::size_t kept, Index begin) {
  std::vector<ShownStep> shown;
  for (std::size_t run = 0; run < kept; ++run) {
    const std::size_t step = steps.size() - kept + run;
    shown.push_back({begin + static_cast<Index>(step) + 1, run, steps[step].time});
  }
  std::stable_sort(shown.begin(), shown.end(), [](const ShownStep& a, const ShownStep& b) { return a.time < b.time; });
  return shown.at((kept - 1) / 2);
}

/// The program of a rank; of a pipeline those of all stages, one after the other.
std::vector<std::string> lines_of_programs(const TrainingPlan& plan) {
  std::vector<std::string> all;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    if (plan.pipeline) all.push_back(fmt::format("stage {}:", stage));
    const Compiled& step = *plan.stages[stage].step;
    const std::vector<std::string> own = fused_lines(step.program(), step.schedule());
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

/// Collective over all ranks: of the stage with the most communication, and with the least of it hidden.
Overlap overlap_of_stages(const Job& job, const Trainer& trainer) {
  const Overlap own = measure_overlap(trainer.executor().trace(), trainer.engine());
  const mpi::Communicator& world = job.world();
  return {.in_flight = Seconds(world.max(own.in_flight.value)),
          .alone = Seconds(world.max(own.alone.value)),
          .exposed = Seconds(world.max(own.exposed.value)),
          .hidden = world.min(own.hidden)};
}

/// Collective over all ranks: what a record says of the run and its model, and the loss if the run came to its end.
void add_model(const Job& job, Trainer& trainer, const TrainData& data, TrainRecord& record) {
  record.strategy = trainer.run().strategy;
  record.tokens_per_step = trainer.options().tokens();
  record.sample_name = sample_name(trainer.run());
  record.options = trainer.options();
  const bool shared = trainer.run().ranks_of_sequence(job.mesh().axes()) > 1;
  record.token_order = shared ? trainer.options().shared_order() : TokenOrder::contiguous;
  record.begin = trainer.run().begin.steps;
  if (!record.interrupted) evaluate(trainer, data, record);
  record.experts = expert_record(trainer);
  record.parameters = trainer.run().parameters();
  record.weights_hash = weights_hash(trainer.state(), trainer.model(), job.world());
}

/// Collective over all ranks: the record of the run, after its last step.
TrainRecord conclude(Job& job, Trainer& trainer, const TrainData& data, const Progress& progress) {
  TrainRecord record;
  record.steps = progress.steps;
  record.held_out = progress.held_out;
  record.slower = progress.slower;
  record.interrupted = progress.interrupted;
  record.measured_memory = Bytes(job.world().max(static_cast<double>(tensor_memory().peak)));
  record.predicted_memory = Bytes(job.world().max(trainer.predicted_memory().value));
  const Trace& trace = trainer.executor().trace();
  const std::vector<JoinedStep> joined = joined_steps(job, trainer, measure(trace, trainer.engine()));
  if (std::holds_alternative<MlpConfig>(trainer.run().config)) record.listing = joined;
  const auto stages = static_cast<int>(trainer.plan().stages.size());
  record.joined = joined_text(joined, stages);
  record.comparison = {.kinds = summary_of(joined),
                       .runs = runs_of(trace),
                       .ranks = job.mesh().ranks() / stages,
                       .stages = stages,
                       .measured = median_time(progress.steps, static_cast<std::size_t>(runs_of(trace))),
                       .predicted = trainer.predicted_step(),
                       .warnings = job.machine_warnings(),
                       .busiest = job.other_work().busiest()};
  record.pipeline = pipeline_record(
      job, trainer,
      median_step(progress.steps, static_cast<std::size_t>(record.comparison.runs), trainer.run().begin.steps));
  record.overlap = overlap_of_stages(job, trainer);
  record.needs_the_cores = moving_needs_the_cores(job.mesh().axes(), trainer.options().prices);
  add_model(job, trainer, data, record);
  record.program = lines_of_programs(trainer.plan());
  record.flops_per_step = trainer.run().flops_of_step();
  const FlopsPerSecond peak = job.predictions().matmul * static_cast<double>(job.mesh().ranks());
  record.mfu = (record.flops_per_step / record.comparison.measured) / peak;
  return record;
}

/// Saves the trained model.
void save(const Job& job, const Trainer& trainer, const TrainOptions& options) {
  save_checkpoint(trainer.state(), options.save, std::get<TransformerConfig>(trainer.run().config), trainer.model(),
                  notes_of(job, trainer, options.checkpoints), job.world());
  job.print(fmt::format("saved to {}\n", options.save));
}

/// Collective over all ranks: prints the result, and writes record, plot and page.
void report(Job& job, const TrainRecord& record, const Trainer& trainer, const TrainOptions& options) {
  job.print(result_text(job, record));
  Json json = job.header("shardline.train/1", "train");
  add_keys(json, job, record);
  job.write_json(json);
  if (!options.plot.empty()) job.write_file(options.plot, to_svg(loss_plot(record)));
  if (options.report.empty()) return;
  const TimelineFigure timeline = last_run(trainer.executor().trace(), trainer.engine(), job.world());
  job.write_file(options.report, to_html(page_of(job, record, timeline)));
}

/// The files that a run without steps does not write.
std::string left_out(const TrainOptions& options) {
  std::vector<std::string> names;
  const auto add = [&](const char* name, const std::string& path) {
    if (!path.empty()) names.push_back(fmt::format("{} {}", name, path));
  };
  add("--trace", options.trace);
  add("--plot", options.plot);
  add("--report", options.report);
  return names.empty() ? "" : fmt::format("; no step was run, so there is no {}", listed(names));
}

/// Collective over all ranks, for a run that was ended after its last checkpoint: what comes after the last step. The
/// record has no times, and there is no trace, plot or page.
int finish(Job& job, Trainer& trainer, const TrainData& data, const TrainOptions& options) {
  job.print(fmt::format("all {} steps of this run are done{}\n", trainer.options().steps, left_out(options)));
  TrainRecord record;
  add_model(job, trainer, data, record);
  job.print(loss_text(record) + "\n");
  Json json = job.header("shardline.train/1", "train");
  add_model_keys(json, record);
  job.write_json(json);
  if (!options.save.empty()) save(job, trainer, options);
  return 0;
}

/// How a run with --resume begins.
std::string beginning_text(const Trainer& trainer, const std::string& resumed) {
  const Index done = trainer.run().begin.steps;
  return done > 0 ? fmt::format("{}: goes on after step {}\n", resumed, done)
                  : fmt::format("{}: no checkpoint yet, so the run begins\n", resumed);
}

int train(Job& job, const TrainOptions& options) {
  Interruption interruption;  // what is asked before the first step, or after the last one, waits
  ChosenPlan planned = plan_that_fits(job, options);
  const TrainData data = train_data(job, options);
  const RunSettings settings = settings_of(options.run.options, data.description);
  require_same_run(options.checkpoints, options.run, settings);
  if (!options.save.empty()) probe_folder(job, options);
  job.introduce();
  const roofline::Hardware& hardware = job.predictions();
  const std::string choice = choice_text(job, planned);
  Trainer trainer(job.engine(), std::move(planned.plan), hardware);
  if (!options.checkpoints.resume.empty()) job.print(beginning_text(trainer, options.checkpoints.resume));
  job.print(choice);
  job.print(data.encoded);
  job.print(describe_training(job, trainer.run(), data.description, hardware));
  if (options.shows_schedule) {
    job.print(schedule_text(*trainer.plan().pipeline, trainer.options().prices, source_of_prices(job)));
  }
  if (!trainer.arena_obstacle().empty()) {
    job.note(fmt::format("collectives go by messages: {}", trainer.arena_obstacle()));
  }
  if (trainer.run().begin.steps == trainer.options().steps) return finish(job, trainer, data, options);
  reset_tensor_peak();
  RunCheckpoints checkpoints(job, trainer, options.checkpoints, settings);
  const bool goes_on = !options.checkpoints.resume.empty();
  RunLog log(job.world(), options.log, goes_on ? std::optional(trainer.run().begin.steps) : std::nullopt);
  const auto [progress, traced] =
      run_traced(job, options.trace, trainer, *data.samples, {checkpoints, log, options.evaluate_every}, interruption);
  TrainRecord record = conclude(job, trainer, data, progress);
  record.priced = planned.priced;
  report(job, record, trainer, options);
  if (!options.save.empty()) save(job, trainer, options);
  return !traced ? 1 : progress.interrupted ? kInterrupted : 0;
}

int read_and_train(const TrainFlags& flags) {
  TrainOptions options = typed_options(flags);
  Job job(flags.common, files_of(flags, options.data));
  read_options(flags, job, options);
  return train(job, options);
}

}  // namespace

void add_train(CLI::App& app, Command& run) {
  CLI::App* command =
      app.add_subcommand("train", "Train a Transformer on text, or the book's MLP, under a sharding strategy");
  const auto flags = std::make_shared<TrainFlags>();
  add_train_options(*command, *flags);
  command->footer(kTrainFooter);
  command->callback([flags, &run] { run = [flags] { return read_and_train(*flags); }; });
}

}  // namespace shardline::tools
