#include "tools/train.h"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "models/architecture/accounting.h"
#include "models/checkpoint/checkpoint.h"
#include "models/strategy/auto_strategy.h"
#include "models/training/training.h"
#include "program/ir/print.h"
#include "program/run/measure.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/base/statistics.h"
#include "runtime/host/files.h"
#include "runtime/host/interrupt.h"
#include "tools/job.h"
#include "tools/options/number_option.h"
#include "tools/options/schedule_options.h"
#include "tools/output/output.h"
#include "tools/report/report.h"
#include "tools/trace/last_run.h"
#include "tools/trace/tracing.h"
#include "tools/training/train_memory.h"
#include "tools/training/train_report.h"

namespace shardline::tools {
namespace {

struct TrainOptions {
  CommonOptions common;
  std::string strategy;
  std::string model = "tiny";
  std::vector<std::string> data;
  Index steps = 400;
  Index batch = 8;
  Index sequence = 128;
  double learning_rate = 3e-3;
  bool keep_parameters = false;
  bool regather_activations = false;
  ScheduleFlags schedule;
  std::string save;
  std::string load;
  std::string trace;
  std::string report;
};

constexpr const char* kTrainFooter = R"(Example:
  mpirun -n 4 shardline train --mesh X=2,Y=2 --strategy fsdp=X,tp=Y --save build/model

Roles of --strategy: dp, zero1, fsdp, tp, tp_seq, tp_g, each on one mesh axis; "fsdp+tp" is fsdp=X,tp=Y. "auto" prices
every way to give the axes roles, by the figures of --machine or else by built-in values, and takes the cheapest that
fits. Text is read as bytes, and the last tenth of each file is held out for the loss at the end. There is no dropout.)";

/// One line of ours for numbers that cannot be together.
void check_options(const TrainOptions& options) {
  constexpr double kMostTokens = 1e12;  // of which no product of sizes overflows
  require(static_cast<double>(options.batch) * static_cast<double>(options.sequence) <= kMostTokens,
          "--batch {}, --seq {}: at most {:.0f} tokens a step", options.batch, options.sequence, kMostTokens);
  require(options.common.dtype != "bf16", "--dtype bf16: training runs in f32 or f64");
}

/// The files to train on: those given, or the project's own sources and documentation. Found by rank 0.
std::vector<std::string> corpus(const std::vector<std::string>& given) {
  if (!given.empty()) return given;
  const std::string found = mpi::on_root(mpi::Communicator::world(), 0, [] {
    const Corpus text = default_corpus(SHARDLINE_SOURCE_DIR);
    if (text.skipped > 0) {
      note(
          fmt::format("{} files or folders under {} are skipped: links to folders or in circles, what cannot be "
                      "read, names with a newline",
                      text.skipped, SHARDLINE_SOURCE_DIR));
    }
    return fmt::format("{}", fmt::join(text.files, "\n"));
  });
  std::vector<std::string> files;
  std::stringstream lines(found);
  for (std::string line; std::getline(lines, line);) files.push_back(line);
  return files;
}

CommandFiles files_of(const TrainOptions& options, const std::vector<std::string>& texts) {
  CommandFiles files = files_of(options.common);
  if (options.model != "tiny") files.inputs.push_back({"--model", "model", options.model});
  for (const std::string& text : texts) files.inputs.push_back({"--data", "text", text});
  if (!options.load.empty()) files.input_folders.push_back({"--load", "model", options.load});
  add_trace_files(files, options.trace);
  files.outputs.push_back({"--report", "page", options.report});
  if (!options.save.empty()) {
    for (const std::string& path : saved_files(options.save)) files.more_outputs.push_back({"--save", "model", path});
  }
  return files;
}

/// Where the weights start: a checkpoint, when one is given.
struct Beginning {
  TransformerConfig config;
  Trainer::Start start;
};

Beginning beginning(const Job& job, const TrainOptions& options) {
  if (options.load.empty()) {
    const std::string text =
        options.model == "tiny" ? "" : mpi::on_root(job.world(), 0, [&] { return read_description(options.model); });
    if (options.model == "tiny") return {tiny_config(), {}};
    const ReadConfig read = parse_config(text, options.model);
    for (const std::string& remark : read.remarks) job.note(remark);
    return {read.config, {}};
  }
  const Checkpoint checkpoint = open_checkpoint(job.world(), options.load);
  for (const std::string& remark : checkpoint.remarks) job.note(remark);
  return {checkpoint.config, [checkpoint](State& state) { load_parameters(checkpoint, state); }};
}

struct Progress {
  std::vector<StepResult> steps;
  bool interrupted = false;
};

/// How many of the first steps are not typical: they pay for cold caches and fresh memory. None of a very short run.
std::size_t warmup_of(std::size_t steps) { return steps > 4 ? 2 : 0; }

Seconds median_time(const std::vector<StepResult>& steps) {
  std::vector<Seconds> times;
  for (std::size_t i = warmup_of(steps.size()); i < steps.size(); ++i) times.push_back(steps[i].time);
  return median(std::move(times));
}

double tokens_per_step(const TrainOptions& options) {
  return static_cast<double>(options.batch) * static_cast<double>(options.sequence);
}

constexpr const char* kDiverged = ": training diverged; a smaller --lr may help";

/// A NaN has a sign, which says nothing.
std::string loss_number(double value) { return std::isnan(value) ? "NaN" : fmt::format("{}", value); }

/// Collective over all ranks. Throws ResultError when a loss or a gradient's norm is not finite.
Progress run_steps(const Job& job, const TrainOptions& options, Trainer& trainer, const ByteData& data) {
  Progress progress;
  const double tokens = tokens_per_step(options);
  const Index shown_every = options.steps <= 50 ? 1 : options.steps / 50;
  for (Index step = 0; step < options.steps; ++step) {
    const StepResult result = trainer.step(data, step);
    progress.steps.push_back(result);
    progress.interrupted = result.stop && step + 1 < options.steps;
    const bool warm = progress.steps.size() == warmup_of(static_cast<std::size_t>(options.steps));
    if (warm && !progress.interrupted) trainer.forget_times();
    if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) {
      throw ResultError(fmt::format("step {}: loss {}, gradient norm {}{}", step + 1, loss_number(result.loss),
                                    loss_number(result.grad_norm), kDiverged));
    }
    if (step % shown_every == 0 || step + 1 == options.steps || progress.interrupted) {
      job.print(fmt::format("step {:>5}  loss {:.4f}  grad_norm {:7.4f}  {:>8.0f} tokens/s  {}\n", step + 1,
                            result.loss, result.grad_norm, tokens / result.time.value, to_string(result.time)));
    }
    if (progress.interrupted) break;
  }
  return progress;
}

/// Collective over all ranks: trains until the last step or, asked to stop, the next, and writes the trace. Whether
/// that is right stands beside. Throws ResultError, and writes nothing, when training diverged.
std::pair<Progress, bool> run_traced(Job& job, const TrainOptions& options, Trainer& trainer, const ByteData& data) {
  Tracing tracing(job, options.trace, trainer.executor().trace());
  const Interruption interruption([&tracing] { tracing.leave_part(); });
  trainer.set_recording(tracing.recording());
  job.other_work().begin();
  const Progress progress = run_steps(job, options, trainer, data);
  job.other_work().end();
  trainer.set_recording(nullptr);
  trainer.align();
  const std::string wrong = trainer.non_finite_parameter();
  if (!wrong.empty()) {
    throw ResultError(fmt::format("after step {}: {}{}", progress.steps.size(), wrong, kDiverged));
  }
  if (progress.interrupted) {
    job.note(fmt::format("interrupted after step {} of {}", progress.steps.size(), options.steps));
  }
  return {progress, tracing.write("train")};
}

/// Batches of held-out text that the loss at the end is taken over, at most: the whole of it after a real run, a few
/// after a trial of some steps.
Index evaluation_batches(Index steps) { return std::clamp<Index>(steps / 4, 5, 100); }

/// Collective over all ranks: refuses a folder that the model could not be saved to, before anything is trained.
void probe_folder(const Job& job, const std::string& folder) {
  mpi::on_root(job.world(), 0, [&] {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    require(std::filesystem::is_directory(folder), "--save {}: cannot make the folder: {}", folder, failure.message());
    const WholeFile writable(folder + "/model.safetensors");
    return std::string();
  });
}

TrainingOptions training_options(const TrainOptions& options, const Job& job) {
  TrainingOptions training;
  training.batch = {options.batch, options.sequence};
  training.learning_rate = options.learning_rate;
  training.steps = options.steps;
  training.warmup = std::min<Index>(20, std::max<Index>(1, options.steps / 10));
  training.adamw.weight_decay = 0.1;
  training.adamw.clip_norm = 1.0;
  training.policy = {options.keep_parameters ? Reuse::keep : Reuse::regather,
                     options.regather_activations ? Reuse::regather : Reuse::keep};
  training.schedule = schedule_options(options.schedule);
  training.prices = job.prices();
  training.dtype = job.dtype();
  training.seed = job.seed();
  return training;
}

/// How often the program ran whose spans are there.
int runs_of(const Trace& trace) {
  return trace.labels().empty() ? 1 : static_cast<int>(trace.spans().size() / trace.labels().size());
}

/// Collective over all ranks: what there is to tell once the last step is done.
TrainRecord conclude(Job& job, Trainer& trainer, const ByteData& data, const TrainingOptions& training,
                     const Progress& progress) {
  TrainRecord record;
  record.steps = progress.steps;
  record.interrupted = progress.interrupted;
  record.measured_memory = Bytes(job.world().max(static_cast<double>(tensor_memory().peak)));
  record.predicted_memory = Bytes(job.world().max(trainer.predicted_memory().value));
  const Trace& trace = trainer.executor().trace();
  record.comparison = {.kinds = summarise(trace.labels(), measure(trace, job.engine())),
                       .runs = runs_of(trace),
                       .ranks = job.mesh().ranks(),
                       .measured = median_time(progress.steps),
                       .predicted = trainer.predicted_step(),
                       .warnings = job.machine_warnings(),
                       .busiest = job.other_work().busiest()};
  record.overlap = measure_overlap(trace, job.engine());
  record.needs_the_cores = moving_needs_the_cores(job.mesh().axes(), training.prices);
  if (!progress.interrupted) {
    Index windows = 0;
    record.val_loss = trainer.evaluate(data, evaluation_batches(training.steps), windows);
    record.bigram_loss = data.bigram_loss(windows);
    if (!std::isfinite(*record.val_loss)) {
      throw ResultError(fmt::format("held-out loss {}{}", loss_number(*record.val_loss), kDiverged));
    }
  }
  record.parameters = parameter_count(trainer.config());
  record.program = lines(trainer.program());
  record.flops_per_step = training_flops(trainer.config(), training.batch);
  const FlopsPerSecond peak = job.predictions().matmul * static_cast<double>(job.mesh().ranks());
  record.mfu = (record.flops_per_step / record.comparison.measured) / peak;
  return record;
}

constexpr const char* kAuto = "auto";

/// What decides the layouts of a run.
struct Choice {
  std::string prices;  ///< that decided: "built-in prices"
  Strategy strategy;
  std::vector<PricedStrategy> priced;  ///< under auto: all there were, cheapest first
};

/// Collective over all ranks: under auto, the cheapest strategy by Job::prices() that fits the machine; otherwise the
/// one that was named. A rank holds `held` beside its arrays.
Choice choose(const TrainOptions& options, const Job& job, const TransformerConfig& config, Bytes held,
              TrainingOptions& training) {
  const AbstractMesh& mesh = job.mesh().axes();
  if (options.strategy != kAuto) return {"", parse_strategy(options.strategy, mesh), {}};
  const Program program = make_training_step(config, training.batch, training.adamw, training.types()).model.program;
  Choice choice;
  choice.prices = job.given_machine() ? "prices of machine " + job.given_machine()->machine.name : "built-in prices";
  choice.priced = price_strategies(program, mesh, training.policy, training.prices, training.schedule);
  // What is free at the moment must not matter here: it would decide about bits.
  const Bytes memory = job.machine().memory_per_rank - held;
  const PricedStrategy& cheapest =
      options.common.memory_check ? cheapest_that_fits(choice.priced, memory) : choice.priced.at(0);
  choice.strategy = cheapest.strategy;
  training.by_price = cheapest.by_price;
  return choice;
}

std::string choice_text(const Choice& choice) {
  std::string text;
  constexpr std::size_t kListed = 6;
  for (std::size_t i = 0; i < std::min(choice.priced.size(), kListed); ++i) {
    const PricedStrategy& each = choice.priced[i];
    text += fmt::format("  {:<24} {:>9} a step, {:>9} of arrays, operations by {}{}\n", to_string(each.strategy),
                        to_string(each.price.total), to_string(each.peak), each.by_price ? "price" : "table",
                        each.strategy == choice.strategy ? "  <- chosen" : "");
  }
  return text.empty() ? text
                      : fmt::format("strategies by {}, {} of {}:\n{}\n", choice.prices,
                                    std::min(choice.priced.size(), kListed), choice.priced.size(), text);
}

int train(const TrainOptions& options) {
  check_options(options);
  schedule_options(options.schedule);
  const std::vector<std::string> texts = corpus(options.data);
  Job job(options.common, files_of(options, texts));
  if (options.strategy != kAuto) parse_strategy(options.strategy, job.mesh().axes());  // refused before files are read
  const Beginning begin = beginning(job, options);
  require(begin.config.vocab >= 256, "vocab_size {}: text is read as bytes, so at least 256", begin.config.vocab);
  require_memory_for_weights(job, begin.config);
  const Bytes text = text_memory(job.world(), texts);
  TrainingOptions training = training_options(options, job);
  const Choice choice = choose(options, job, begin.config, text, training);
  const Strategy& strategy = choice.strategy;
  TrainingPlan plan =
      plan_that_fits(job, {.config = begin.config, .text = text, .saves = !options.save.empty()}, training, strategy);
  const ByteData data(texts, options.sequence, job.seed(), [&](const std::string& path) {
    return mpi::on_root(job.world(), 0, [&] { return read_file(path); });
  });
  if (!options.save.empty()) probe_folder(job, options.save);
  job.introduce();
  const roofline::Hardware& hardware = job.predictions();
  Trainer trainer(job.engine(), std::move(plan), hardware, begin.start);
  job.print(choice_text(choice));
  job.print(describe_training(job, begin.config, strategy, training, data, hardware));
  if (!trainer.arena_obstacle().empty()) {
    job.note(fmt::format("collectives go by messages: {}", trainer.arena_obstacle()));
  }

  reset_tensor_peak();
  const auto [progress, traced] = run_traced(job, options, trainer, data);
  TrainRecord record = conclude(job, trainer, data, training, progress);
  record.strategy = strategy;
  record.priced = choice.priced;
  record.tokens_per_step = tokens_per_step(options);
  job.print(result_text(job, record));
  Json json = job.header("shardline.train/1", "train");
  add_keys(json, job, record);
  job.write_json(json);
  if (!options.report.empty()) {
    const TimelineFigure timeline = last_run(trainer.executor().trace(), job.engine());
    job.write_file(options.report, to_html(page_of(job, record, timeline)));
  }
  if (!options.save.empty()) {
    const TrainingNotes notes{options.sequence, job.given_machine() ? job.given_machine()->hash : ""};
    save_checkpoint(trainer.state(), options.save, begin.config, trainer.model(), notes);
    job.print(fmt::format("saved to {}\n", options.save));
  }
  return !traced ? 1 : progress.interrupted ? kInterrupted : 0;
}

}  // namespace

void add_train(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("train", "Train a Transformer on text under a sharding strategy");
  const auto options = std::make_shared<TrainOptions>();
  add_common_options(*command, options->common);
  add_machine_options(*command, options->common.machine);
  command->add_option("--strategy", options->strategy,
                      "Roles on mesh axes, fsdp=X,tp=Y, or auto for the cheapest; default fsdp on the only axis");
  CLI::Option* model = command->add_option("--model", options->model, "tiny, or a Hugging Face config.json");
  model->capture_default_str();
  command->add_option("--data", options->data, "Text files; default this project's sources and documentation");
  add_whole_option(*command, {.name = "--steps", .help = "Training steps"}, options->steps);
  add_whole_option(*command, {.name = "--batch", .help = "Sequences per step over all ranks"}, options->batch);
  add_whole_option(*command, {.name = "--seq", .help = "Tokens per sequence"}, options->sequence);
  add_decimal_option(*command, {.name = "--lr", .help = "Learning rate after warm-up", .positive = true},
                     options->learning_rate);
  command->add_flag("--keep-parameters", options->keep_parameters, "Keep gathered weights for the backward pass");
  command->add_flag("--regather-activations", options->regather_activations,
                    "Gather activations again in the backward pass");
  add_schedule_options(*command, options->schedule, true);
  command->add_option("--save", options->save, "Folder for the trained model");
  command->add_option("--load", options->load, "Folder of a model to start from, instead of --model")->excludes(model);
  add_trace_option(*command, options->trace);
  add_report_option(*command, options->report, "the run");
  command->footer(kTrainFooter);
  command->callback([options, &run] { run = [options] { return train(*options); }; });
}

}  // namespace shardline::tools
