#include "tools/training/train_options.h"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "models/architecture/accounting.h"
#include "models/checkpoint/checkpoint.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"
#include "tools/options/number_option.h"
#include "tools/output/output.h"
#include "tools/trace/tracing.h"

namespace shardline::tools {
namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kTiny = "tiny";

/// Refuses numbers that do not fit together.
void check_numbers(const TrainFlags& flags) {
  constexpr double kMostTokens = 1e12;  // no product of sizes overflows
  require(static_cast<double>(flags.batch) * static_cast<double>(flags.sequence) <= kMostTokens,
          "--batch {}, --seq {}: at most {:.0f} tokens a step", flags.batch, flags.sequence, kMostTokens);
}

/// Micro-batches are equal.
void check_micro_batches(const TrainFlags& flags) {
  require(flags.batch % flags.micro_batches == 0, "--micro-batches {} does not divide --batch {}", flags.micro_batches,
          flags.batch);
}

/// The project's own sources and documentation, found by rank 0.
std::vector<std::string> own_texts() {
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

/// Collective over all ranks: the configuration of the model, and where its weights start.
void read_model(const TrainFlags& flags, const Job& job, TrainOptions& options) {
  std::vector<std::string> remarks;
  if (!flags.load.empty()) {
    const Checkpoint checkpoint = open_checkpoint(job.world(), flags.load);
    options.run.start = [checkpoint](State& state) { load_parameters(checkpoint, state); };
    options.run.config = checkpoint.config;
    remarks = checkpoint.remarks;
  } else if (flags.model == kTiny) {
    options.run.config = tiny_config();
  } else {
    const std::string text = mpi::on_root(job.world(), 0, [&] {
      require(std::filesystem::exists(flags.model), "--model {}: no such file; tiny, or a Hugging Face config.json",
              flags.model);
      return read_description(flags.model);
    });
    const ReadConfig read = parse_config(text, flags.model);
    options.run.config = read.config;
    remarks = read.remarks;
  }
  for (const std::string& remark : remarks) job.note(remark);
  const Index vocab = options.run.config.vocab;
  require(vocab >= 256, "{}: vocab_size {}: text is read as bytes, so at least 256",
          flags.load.empty() ? flags.model : flags.load, vocab);
}

/// Collective over `world`; rank 0 looks. The memory of the text of these files on a rank: one copy stays, and reading
/// needs two more.
Bytes text_memory(const mpi::Communicator& world, const std::vector<std::string>& files) {
  const std::string bytes = mpi::on_root(world, 0, [&] {
    std::uintmax_t sum = 0;
    for (const std::string& file : files) {
      std::error_code failure;
      const std::uintmax_t size = std::filesystem::file_size(file, failure);
      if (!failure) sum += size;
    }
    return std::to_string(3 * sum);
  });
  return Bytes(std::stod(bytes));
}

/// Collective over all ranks: refuses a model if the ranks together cannot hold its weights and moments. This comes
/// before the program is built.
void require_memory_for_weights(const Job& job, const TransformerConfig& config) {
  constexpr double kWithMoments = 3;
  const double elements = kWithMoments * static_cast<double>(parameter_count(config));
  const Bytes part(elements * static_cast<double>(size_of(job.dtype())) / static_cast<double>(job.mesh().ranks()));
  job.require_memory("train, for weights and their moments alone,", {.own = part, .shared = Bytes(0)},
                     [](const auto&) { return std::string("more nodes or a smaller model might fit"); });
}

/// The flags of the training itself.
TrainingOptions training_options(const TrainFlags& flags) {
  TrainingOptions training;
  training.batch = {flags.batch, flags.sequence};
  training.form.micro_batches = flags.micro_batches;
  if (!flags.remat.empty()) training.form.remat = remat_named(flags.remat);
  training.learning_rate = flags.learning_rate;
  training.steps = flags.steps;
  training.warmup = std::min<Index>(20, std::max<Index>(1, flags.steps / 10));
  training.adamw.weight_decay = 0.1;
  training.adamw.clip_norm = 1.0;
  training.policy = {flags.keep_parameters ? Reuse::keep : Reuse::regather,
                     flags.regather_activations ? Reuse::regather : Reuse::keep};
  training.schedule = schedule_options(flags.schedule);
  return training;
}

}  // namespace

void add_train_options(CLI::App& command, TrainFlags& flags) {
  flags.common.dtypes = {DType::f32, DType::f64};
  add_common_options(command, flags.common);
  add_machine_options(command, flags.common.machine);
  command
      .add_option("--strategy", flags.strategy,
                  "Roles on mesh axes, fsdp=X,tp=Y, or auto for the cheapest; default fsdp on the only axis")
      ->check(not_empty());
  CLI::Option* model = command.add_option("--model", flags.model, "tiny, or a Hugging Face config.json");
  model->capture_default_str()->check(not_empty());
  command.add_option("--data", flags.data, "Text files; default this project's sources and documentation")
      ->check(not_empty());
  add_whole_option(command, {.name = "--steps", .help = "Training steps"}, flags.steps);
  add_whole_option(command, {.name = "--batch", .help = "Sequences per step over all ranks"}, flags.batch);
  add_whole_option(command,
                   {.name = "--micro-batches",
                    .help = "Equal parts of the batch, one after the other, before one update",
                    .most = 512},
                   flags.micro_batches);
  command
      .add_option("--remat", flags.remat,
                  "What stays of the forward pass: everything (none), products (matmuls), the residual stream (stream) "
                  "or each layer's input (block); default none, with --strategy auto the cheapest that fits")
      ->check(not_empty());
  add_whole_option(command, {.name = "--seq", .help = "Tokens per sequence"}, flags.sequence);
  add_decimal_option(command, {.name = "--lr", .help = "Learning rate after warm-up", .positive = true},
                     flags.learning_rate);
  command.add_flag("--keep-parameters", flags.keep_parameters, "Keep gathered weights for the backward pass");
  command.add_flag("--regather-activations", flags.regather_activations,
                   "Gather activations again in the backward pass");
  add_schedule_options(command, flags.schedule, true);
  command.add_option("--save", flags.save, "Folder for the trained model")->check(not_empty());
  command.add_option("--load", flags.load, "Folder of a model to start from, instead of --model")
      ->excludes(model)
      ->check(not_empty());
  add_trace_option(command, flags.trace);
  add_report_option(command, flags.report, "the run");
}

TrainOptions typed_options(const TrainFlags& flags) {
  check_numbers(flags);
  check_micro_batches(flags);
  TrainOptions options;
  options.run.options = training_options(flags);
  options.chooses = flags.strategy == kAuto;
  options.chooses_remat = options.chooses && flags.remat.empty();
  options.fits_memory = flags.common.memory_check;
  options.texts = flags.data.empty() ? own_texts() : flags.data;
  options.save = flags.save;
  options.trace = flags.trace;
  options.report = flags.report;
  return options;
}

CommandFiles files_of(const TrainFlags& flags, const std::vector<std::string>& texts) {
  CommandFiles files = files_of(flags.common);
  if (flags.model != kTiny) files.inputs.push_back({"--model", "model", flags.model});
  for (const std::string& text : texts) files.inputs.push_back({"--data", "text", text});
  if (!flags.load.empty()) files.input_folders.push_back({"--load", "model", flags.load});
  add_trace_files(files, flags.trace);
  files.outputs.push_back({"--report", "page", flags.report});
  if (!flags.save.empty()) {
    for (const std::string& path : saved_files(flags.save)) files.more_outputs.push_back({"--save", "model", path});
  }
  return files;
}

void read_options(const TrainFlags& flags, const Job& job, TrainOptions& options) {
  if (!options.chooses) options.run.strategy = parse_strategy(flags.strategy, job.mesh().axes());
  read_model(flags, job, options);
  require_memory_for_weights(job, options.run.config);
  options.run.options.prices = job.prices();
  options.run.options.dtype = job.dtype();
  options.run.options.seed = job.seed();
  options.text_memory = text_memory(job.world(), options.texts);
}

}  // namespace shardline::tools
