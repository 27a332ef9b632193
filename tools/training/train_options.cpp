#include "tools/training/train_options.h"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

#include "models/architecture/accounting.h"
#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/step_folders.h"
#include "models/checkpoint/training_checkpoint.h"
#include "program/timetable/named.h"
#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "runtime/base/number.h"
#include "runtime/host/files.h"
#include "tools/options/number_option.h"
#include "tools/output/output.h"
#include "tools/tokens/tokenizer_option.h"
#include "tools/trace/tracing.h"
#include "tools/training/experts.h"
#include "tools/training/mlp_options.h"

namespace shardline::tools {
namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kTiny = "tiny";

/// The batch of a model that reads text.
BatchShape text_batch(const TrainFlags& flags) {
  require(flags.size.empty(), "--size {}: only --model mlp has it; give --batch and --seq", flags.size);
  require(flags.activation.empty(), "--activation {}: only --model mlp has it", flags.activation);
  BatchShape batch{flags.batch.value_or(8), flags.sequence.value_or(128)};
  batch.capacity = flags.capacity.value_or(0);
  constexpr double kMostTokens = 1e12;  // no product of sizes overflows
  require(static_cast<double>(batch.sequences) * static_cast<double>(batch.tokens) <= kMostTokens,
          "--batch {}, --seq {}: at most {:.0f} tokens a step", batch.sequences, batch.tokens, kMostTokens);
  return batch;
}

/// Micro-batches are equal.
void check_micro_batches(const TrainingOptions& options, bool mlp) {
  require(options.batch.sequences % options.form.micro_batches == 0, "--micro-batches {} does not divide {}{}",
          options.form.micro_batches, mlp ? "the rows of --size B=" : "--batch ", options.batch.sequences);
}

/// Collective over `world`; rank 0 looks. A run whose own folder holds no checkpoint yet begins.
bool resumes(const TrainFlags& flags, const mpi::Communicator& world) {
  const std::string& folder = flags.checkpoints.resume;
  if (folder.empty()) return false;
  return folder != flags.save || !mpi::on_root(world, 0, [&] { return has_checkpoint(folder) ? "yes" : ""; }).empty();
}

/// Collective over `world`; rank 0 looks: the tokenizer that is given, or else that of the model that the run starts
/// from; empty for none.
std::string tokenizer_of(const TrainFlags& flags, const mpi::Communicator& world) {
  if (!flags.data.tokenizer.empty()) return flags.data.tokenizer;
  if (resumes(flags, world)) {
    const std::string folder = mpi::on_root(world, 0, [&] { return step_folder(flags.checkpoints.resume); });
    return tokenizer_in(world, folder);
  }
  return flags.load.empty() ? "" : tokenizer_in(world, flags.load);
}

/// Collective over `world`: makes the run go on from the checkpoint of --resume. Its batch and its sequences hold where
/// the command line names none. Returns the configuration of the model.
TransformerConfig resume(const TrainFlags& flags, const mpi::Communicator& world, TrainOptions& options) {
  const OpenedStep opened = open_step(world, flags.checkpoints.resume);
  options.run.start = [opened, &world](State& state, const Model& model) { load_step(opened, state, model, world); };
  options.run.begin = opened.what.position;
  options.checkpoints.resumed = opened.what.settings;
  const auto take = [&](const char* name, Index& value) {
    const auto found = opened.what.settings.find(name);
    if (found != opened.what.settings.end()) value = whole_number<Index>(found->second).value_or(value);
  };
  if (!flags.batch) take("batch", options.run.options.batch.sequences);
  if (!flags.sequence) take("seq", options.run.options.batch.tokens);
  const auto capacity = opened.what.settings.find("capacity");
  if (!flags.capacity && capacity != opened.what.settings.end()) {
    options.run.options.batch.capacity = decimal_number(capacity->second).value_or(-1);
    require(options.run.options.batch.capacity > 0, "--resume {}: its capacity is \"{}\", no number above 0",
            flags.checkpoints.resume, capacity->second);
  }
  return opened.what.config;
}

/// Collective over all ranks: the tokenizer of the run. One that lies beside a model, and that no text needs, may be of
/// another kind: then it is left out.
std::shared_ptr<TextEncoder> read_tokenizer_of(const Job& job, const TrainOptions& options) {
  if (options.tokenizer_path.empty()) return nullptr;
  try {
    return std::make_shared<TextEncoder>(read_tokenizer(job.world(), options.tokenizer_path));
  } catch (const UsageError& error) {
    const bool packs = options.run.options.pack;
    if (options.tokenizer_given || packs || options.data.encodes || !options.data.lines.empty()) throw;
    job.note(fmt::format("{}; it is not saved with the model", error.what()));
    return nullptr;
  }
}

/// Throws UsageError if the tokenizer has ids that the model has not. Models may have more: they are often padded.
void require_vocabulary(const TrainOptions& options, Index vocab) {
  if (options.tokenizer == nullptr) return;
  require(options.tokenizer->vocabulary_size() <= vocab,
          "{}: the tokenizer has {} ids, but the model has a vocabulary of {} (vocab_size)", options.tokenizer_path,
          options.tokenizer->vocabulary_size(), vocab);
}

/// Throws UsageError if documents end with a token that the tokenizer has not.
void require_document_end(const TrainOptions& options) {
  if (!options.run.options.pack || options.data.tokens.empty()) return;
  require(!options.tokenizer->end_tokens().empty(),
          "--pack: {} has no end token, so no document ends; one is the first of these added tokens: {}",
          options.tokenizer_path, fmt::join(TextEncoder::end_token_names(), ", "));
}

/// Collective over all ranks: the configuration that --model names. The tiny model has the vocabulary of the tokenizer.
ReadConfig named_model(const std::string& model, const Job& job, const TextEncoder* tokenizer) {
  if (model == kTiny) {
    TransformerConfig config = tiny_config();
    if (tokenizer != nullptr) config.vocab = tokenizer->vocabulary_size();
    return {.config = config, .remarks = {}};
  }
  const std::string text = mpi::on_root(job.world(), 0, [&] {
    require(std::filesystem::exists(model), "--model {}: no such file; tiny, mlp, or a Hugging Face config.json",
            model);
    return read_description(model);
  });
  return parse_config(text, model);
}

/// Throws UsageError if the command line names another model than that of the checkpoint.
void require_same_model(const TrainFlags& flags, const Job& job, const TransformerConfig& config,
                        const TextEncoder* tokenizer) {
  if (!flags.model_given) return;
  const std::string difference = first_difference(config, named_model(flags.model, job, tokenizer).config);
  require(difference.empty(), "--resume {}: the model there is not --model {}: {}", flags.checkpoints.resume,
          flags.model, difference);
}

/// Collective over all ranks: the configuration of the model, and where its weights start.
void read_model(const TrainFlags& flags, const Job& job, TrainOptions& options) {
  ReadConfig read;
  options.tokenizer = read_tokenizer_of(job, options);
  require_document_end(options);
  if (options.tokenizer != nullptr) options.checkpoints.tokenizer = options.tokenizer->json();
  if (resumes(flags, job.world())) {
    read.config = resume(flags, job.world(), options);
    require_same_model(flags, job, read.config, options.tokenizer.get());
  } else if (!flags.load.empty()) {
    const Checkpoint checkpoint = open_checkpoint(job.world(), flags.load);
    if (options.data.reads_bytes(options.tokenizer != nullptr)) require_reads_bytes(checkpoint, flags.load);
    if (options.tokenizer != nullptr) note_other_tokenizer(job, *options.tokenizer, options.tokenizer_path, flags.load);
    options.run.start = [checkpoint, &world = job.world()](State& state, const Model& model) {
      load_parameters(checkpoint, state, model, world);
    };
    read = {.config = checkpoint.config, .remarks = checkpoint.remarks};
  } else {
    read = named_model(flags.model, job, options.tokenizer.get());
  }
  for (const std::string& remark : read.remarks) job.note(remark);
  require(!options.data.reads_bytes(options.tokenizer != nullptr) || read.config.vocab >= 256,
          "{}: vocab_size {}: text is read as bytes, so at least 256", flags.load.empty() ? flags.model : flags.load,
          read.config.vocab);
  require_vocabulary(options, read.config.vocab);
  options.run.config = read.config;
}

/// Collective over all ranks: refuses a model if the ranks together cannot hold its weights and moments. This comes
/// before the program is built.
void require_memory_for_weights(const Job& job, const TrainingRun& run) {
  const double arrays = std::holds_alternative<PlainDescent>(run.options.optimizer) ? 1 : 3;  // with both moments
  const double elements = arrays * static_cast<double>(run.parameters());
  const Bytes part(elements * static_cast<double>(size_of(sum_type(job.dtype()))) /
                   static_cast<double>(job.mesh().ranks()));
  job.require_memory("train, for weights and their moments alone,", {.own = part, .shared = Bytes(0)},
                     [](const auto&) { return std::string("more nodes or a smaller model might fit"); });
}

/// The numbers of --stage-layers.
std::vector<int> layers_of(const std::string& text) {
  std::vector<int> layers;
  if (text.empty()) return layers;
  for (const std::string& item : split(text, ',')) {
    const std::optional<int> count = whole_number<int>(item);
    require(count && *count >= 0, "--stage-layers {}: \"{}\" is no number of layers; as in 5,4,4,3", text, item);
    layers.push_back(*count);
  }
  return layers;
}

/// Options that need stages, and options that stages do not have.
void check_stages_of(const TrainFlags& flags, const Strategy& strategy, const AbstractMesh& mesh) {
  const bool stages = !stage_axis(strategy, mesh).empty();
  const char* why = flags.strategy == kAuto
                        ? "--strategy auto chooses the stages itself; name a strategy with role pp"
                        : "only a strategy with role pp, on an axis of more than one rank, has stages";
  require(stages || !flags.show_schedule, "--show-schedule: {}", why);
  require(stages || flags.stage_layers.empty(), "--stage-layers {}: {}", flags.stage_layers, why);
  require(stages || flags.timetable == kAuto, "--timetable {}: {}", flags.timetable, why);
}

/// The flags of the training itself.
TrainingOptions training_options(const TrainFlags& flags) {
  TrainingOptions training;
  training.form.micro_batches = flags.micro_batches.value_or(1);
  if (!flags.remat.empty()) training.form.remat = remat_named(flags.remat);
  if (flags.timetable != kAuto) training.pipeline.timetable = timetable_row(flags.timetable).name;
  training.pipeline.layers = layers_of(flags.stage_layers);
  training.optimizer = optimizer_of(flags.optimizer);
  training.steps = flags.steps.value_or(trains_mlp(flags) ? kMlpSteps : 400);
  // The book gathers the input of an MLP again in its backward pass.
  const bool regathers = flags.regather_activations.value_or(trains_mlp(flags));
  training.policy = {flags.keep_parameters ? Reuse::keep : Reuse::regather, regathers ? Reuse::regather : Reuse::keep};
  training.schedule = schedule_options(flags.schedule);
  if (!flags.token_order.empty()) training.token_order = token_order_named(flags.token_order);
  training.pack = flags.data.packs;
  return training;
}

/// What is trained, on what, and where it comes from and goes to.
void add_model_options(CLI::App& command, TrainFlags& flags) {
  CLI::Option* model = command.add_option("--model", flags.model, "tiny, mlp, or a Hugging Face config.json");
  model->capture_default_str()->check(not_empty());
  model->each([&flags](const std::string&) { flags.model_given = true; });
  add_data_options(command, flags.data);
  add_mlp_options(command, flags);
  command.add_option("--save", flags.save, "Folder for the trained model")->check(not_empty());
  CLI::Option* load = command.add_option("--load", flags.load, "Folder of a model to start from, instead of --model");
  load->excludes(model)->check(not_empty());
  add_checkpoint_options(command, flags.checkpoints);
  command.add_option("--log", flags.log, "File that gets a line of JSON for each step, while the run goes on")
      ->check(not_empty());
  command.add_option("--plot", flags.plot, "Draw the losses into this SVG file")->check(not_empty());
  add_whole_option(
      command, {.name = "--eval-every", .help = "Steps from one held-out loss to the next; default only at the end"},
      flags.evaluate_every);
}

/// How long and in what parts.
void add_step_options(CLI::App& command, TrainFlags& flags) {
  add_whole_option(command, {.name = "--steps", .help = "Training steps; default 400, of mlp 20"}, flags.steps);
  add_whole_option(command, {.name = "--batch", .help = "Sequences per step over all ranks; default 8"}, flags.batch);
  add_whole_option(command,
                   {.name = "--micro-batches",
                    .help = "Equal parts of the batch, one after the other, before one update; default 1, with stages "
                            "the number that is fastest by prediction",
                    .most = 512},
                   flags.micro_batches);
  command.add_flag("--show-schedule", flags.show_schedule,
                   "Print the timetable of the stages, and the steps of their tasks");
  add_whole_option(command, {.name = "--seq", .help = "Tokens per sequence; default 128"}, flags.sequence);
  command
      .add_option("--token-order", flags.token_order,
                  "How the tokens of a sequence lie on ranks that share it: " + token_order_names() +
                      "; default zigzag. Roles cp, cp_fsdp and cp_heads share sequences")
      ->check(not_empty());
  add_decimal_option(
      command,
      {.name = "--capacity",
       .help = "Room of each expert for the choices of a sequence, in even shares, as in 1.25; what finds no "
               "room is dropped. Default: room for all",
       .positive = true},
      flags.capacity);
}

/// What stays for the backward pass.
void add_keeping_options(CLI::App& command, TrainFlags& flags) {
  command
      .add_option("--remat", flags.remat,
                  "What stays of the forward pass: everything (none), products (matmuls), the residual stream (stream) "
                  "or each layer's input (block); default none, with --strategy auto the cheapest that fits")
      ->check(not_empty());
  command.add_flag("--keep-parameters", flags.keep_parameters, "Keep gathered weights for the backward pass");
  CLI::Option* regather = command.add_flag_callback(
      "--regather-activations", [&flags] { flags.regather_activations = true; },
      "Gather activations again in the backward pass, as the book does; default for mlp");
  command
      .add_flag_callback(
          "--keep-activations", [&flags] { flags.regather_activations = false; },
          "Keep gathered activations for the backward pass; default for other models")
      ->excludes(regather);
}

void add_pipeline_options(CLI::App& command, TrainFlags& flags) {
  command
      .add_option("--timetable", flags.timetable,
                  "In which order the stages of a pipeline (role pp) do their work: " + timetable_names() +
                      ", or auto for the fastest by prediction that fits")
      ->capture_default_str()
      ->check(not_empty());
  command
      .add_option(
          "--stage-layers", flags.stage_layers,
          "Layers of each stage, as in 5,4,4,3; of each chunk of layers, where a stage has several. Default: by "
          "the predicted time of a step")
      ->check(not_empty());
}

}  // namespace

void add_train_options(CLI::App& command, TrainFlags& flags) {
  flags.common.dtypes = {DType::f32, DType::bf16, DType::f64};
  add_common_options(command, flags.common);
  add_machine_options(command, flags.common.machine);
  command
      .add_option("--strategy", flags.strategy,
                  "Roles on mesh axes, fsdp=X,tp=Y, or auto for the cheapest; default fsdp on the only axis")
      ->check(not_empty());
  add_model_options(command, flags);
  add_step_options(command, flags);
  add_optimizer_options(command, flags.optimizer);
  add_keeping_options(command, flags);
  add_pipeline_options(command, flags);
  add_schedule_options(command, flags.schedule,
                       "Layers by which weights are gathered ahead and gradients reduced behind, where they overlap");
  add_trace_option(command, flags.trace);
  add_report_option(command, flags.report, "the run");
}

TrainOptions typed_options(const TrainFlags& flags) {
  const bool mlp = trains_mlp(flags);
  TrainOptions options;
  options.run.options = training_options(flags);
  if (mlp) {
    give_mlp(flags, options.run);
  } else {
    options.run.options.batch = text_batch(flags);
    give_rates(flags.optimizer, 3e-3, options.run.options);
    options.tokenizer_given = !flags.data.tokenizer.empty();
    options.tokenizer_path = tokenizer_of(flags, mpi::Communicator::world());
    options.data = data_options(flags.data, !options.tokenizer_path.empty());
  }
  check_micro_batches(options.run.options, mlp);
  options.chooses = flags.strategy == kAuto;
  options.shows_schedule = flags.show_schedule;
  options.pipeline = {.timetable = flags.timetable == kAuto, .micro_batches = !flags.micro_batches, .memory = {}};
  options.chooses_remat = options.chooses && flags.remat.empty();
  options.fits_memory = flags.common.memory_check;
  options.save = flags.save;
  options.checkpoints = checkpoint_options(flags.checkpoints, flags.save);
  options.checkpoints.reads_bytes = options.data.reads_bytes(!options.tokenizer_path.empty());
  options.log = flags.log;
  options.plot = flags.plot;
  options.evaluate_every = flags.evaluate_every.value_or(0);
  options.trace = flags.trace;
  options.report = flags.report;
  return options;
}

CommandFiles files_of(const TrainFlags& flags, const DataOptions& data) {
  CommandFiles files = files_of(flags.common);
  if (flags.model != kTiny && !trains_mlp(flags)) files.inputs.push_back({"--model", "model", flags.model});
  add_data_files(files, data);
  files.inputs.push_back({"--tokenizer", "tokenizer", flags.data.tokenizer});
  if (!flags.load.empty()) files.input_folders.push_back({"--load", "model", flags.load});
  add_trace_files(files, flags.trace);
  files.outputs.push_back({"--report", "page", flags.report});
  files.outputs.push_back({"--plot", "plot", flags.plot});
  if (!flags.log.empty()) files.more_outputs.push_back({"--log", "log", flags.log});
  if (!flags.save.empty()) {
    for (const std::string& path : saved_files(flags.save)) files.more_outputs.push_back({"--save", "model", path});
  }
  return files;
}

void read_options(const TrainFlags& flags, const Job& job, TrainOptions& options) {
  if (!options.chooses) options.run.strategy = parse_strategy(flags.strategy, job.mesh().axes());
  check_stages_of(flags, options.run.strategy, job.mesh().axes());
  if (trains_mlp(flags)) {
    check_strategy_of_mlp(options.run.strategy);
  } else {
    read_model(flags, job, options);
  }
  require_experts(options.run);
  require_memory_for_weights(job, options.run);
  options.run.options.prices = job.prices();
  options.run.options.dtype = job.dtype();
  options.run.options.seed = job.seed();
  options.text_memory = text_memory(job.world(), options.data, options.tokenizer.get());
}

}  // namespace shardline::tools
