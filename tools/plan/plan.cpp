#include "tools/plan/plan.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <memory>

#include "models/architecture/known_models.h"
#include "program/timetable/named.h"
#include "runtime/base/check.h"
#include "tools/options/number_option.h"
#include "tools/output/output.h"
#include "tools/output/output_files.h"
#include "tools/output/quiet_record.h"
#include "tools/plan/generate_page.h"
#include "tools/plan/plan_answer.h"
#include "tools/plan/plan_page.h"

namespace shardline::tools {
namespace {

/// Plans generation in place of training.
int plan_generation(const PlanOptions& options) {
  const GenerateAnswer answer = generate_answer_of(options);
  for (const std::string& remark : answer.question.remarks) note(remark);
  if (!options.common.json.empty()) write_output(options.common.json, record_text(generate_record(answer)));
  if (!options.report.empty()) write_output(options.report, to_html(generate_page(answer)));
  if (!options.generate.plot.empty()) write_output(options.generate.plot, to_svg(generate_plot(answer)));
  print(generate_text(answer));
  return 0;
}

int plan(const PlanOptions& options) {
  CommandFiles files = files_of(options.common);
  if (!is_known_model(options.model)) files.inputs.push_back({"--model", "model", options.model});
  files.outputs.push_back({"--report", "page", options.report});
  files.outputs.push_back({"--plot", "plot", options.generate.plot});
  check_files(files);
  if (options.generate.asked) return plan_generation(options);
  const PlanAnswer answer = answer_of(options);
  for (const std::string& remark : answer.question.remarks) note(remark);
  if (!options.common.json.empty()) write_output(options.common.json, record_text(plan_record(answer)));
  if (!options.report.empty()) write_output(options.report, to_html(plan_page(answer)));
  print(plan_text(answer));
  return 0;
}

constexpr const char* kPlanFooter = R"(Example: LLaMA-3 70B on a v5p pod, as the book's section 6 plans it

  shardline plan --model llama3-70b --hardware v5p --chips 8960 --batch-tokens 4M --seq 4096

prints the model's parameters, FLOPs and memory, then two answers. (a) is the closed form of the book: two products a
layer, the mesh of FSDP and tensor parallelism that moves least. (b) prices the whole training step on every mesh of
powers of two by the programs that `train` would derive, and lists the best five: lower is the busiest resource alone,
upper nothing overlapped, scheduled what the schedule makes of it. Axis Z makes stages of a pipeline (role pp): their
timetables are simulated, with several numbers of micro-batches. What does not fit in memory is computed again
(--remat), or the batch is cut (--micro-batches); the times count it.

Models are tiny, llama2-13b, llama3-8b, llama3-70b, llama3-405b, qwen2.5-7b, gemma-7b, mixtral-8x7b, deepseek-v3, gpt3 or
a config.json. Of models with experts it says from which batch these are compute-bound and what moves where they are
split over chips. No program has the latent attention of deepseek-v3: its plan is the closed form alone.
--mesh X=1024:2,C=2:0,Y=4:1 plans for one mesh, X over two torus axes, C on the same two and Y over one; --torus 16x20x28
for meshes of whole axes of that torus. If a batch has fewer sequences than X has ranks, a search splits sequences over
an axis C after it (context parallelism). No MPI is started and nothing is run.

  shardline plan --generate --model llama3-70b --hardware v5e --chips 8 --dtype int8 --batch 32 \
    --prompt-tokens 7680 --new-tokens 512

plans generation by the closed form of the book's sections 7 and 8: a decode step split into parameters, caches, FLOPs and
links, the sequences that fit, prefill and its servers, the smallest slices in bf16, int8 and int4, and the frontier of
latency and throughput over batches and chips. Table (a) has the same step by derived programs: 1D, the fastest in 2D, and
data parallelism, with the collectives of a layer, which of them wait for each other, and what they add to the step.)";

void add_machine(CLI::App& command, PlanOptions& options) {
  add_machine_options(command, options.common.machine)
      ->excludes(add_hardware_option(command, options.hardware, "Plan for"));
  add_whole_option(
      command,
      {.name = "--chips",
       .help =
           "Chips in all; meshes of the largest power of two not above them are searched. With --generate: of a server "
           "(default: the fewest that hold the batch)",
       .most = kMostChips},
      options.chips);
  command.add_option("--mesh", options.common.mesh, "One mesh and the torus axes of each axis, as in X=512:2,Y=4:1")
      ->check(not_empty());
  command.add_option("--torus", options.torus, "The torus, as in 16x20x28: mesh axes take whole axes of it")
      ->check(not_empty());
  command.add_option("--strategy", options.strategy, "Only this one, with --mesh, as in fsdp=X,tp=Y (default: all)")
      ->check(not_empty());
  add_whole_option(
      command,
      {.name = "--pods", .help = "Pods that the chips are in, joined by their hosts' network", .most = kMostChips},
      options.pods);
}

void add_training(CLI::App& command, PlanOptions& options) {
  command.add_option("--batch-tokens", options.batch_tokens, "Tokens of a batch; suffixes K, M, G are powers of 1024")
      ->capture_default_str();
  add_whole_option(command, {.name = "--seq", .help = "Tokens of a sequence"}, options.sequence);
  add_decimal_option(
      command,
      {.name = "--capacity",
       .help = "Room of each expert for the choices of a sequence, in even shares, as in train; 0: room for "
               "all (default: 1.25)"},
      options.capacity);
  add_decimal_option(command,
                     {.name = "--tokens", .help = "Tokens to train on, as in 15e12", .positive = true, .most = 1e18},
                     options.tokens);
  add_decimal_option(
      command,
      {.name = "--utilisation", .help = "Share of the peak that training and prefill reach", .least = 0.001, .most = 1},
      options.utilisation);
  add_decimal_option(command,
                     {.name = "--price-per-hour", .help = "Of a chip, in any currency; 0: not known", .most = 1e9},
                     options.price_per_hour);
  add_whole_option(
      command,
      {.name = "--stages",
       .help = "Stages of pipelines (default: 8 or fewer in the closed form, every power of 2 in a search)"},
      options.stages);
  add_whole_option(
      command,
      {.name = "--micro-batches",
       .help = "Parts of a batch, one after the other (default: 32 or fewer in the closed form, else searched)"},
      options.micro_batches);
  command
      .add_option("--timetable", options.timetable, "Of pipelines: " + timetable_names() + " (default: the fastest)")
      ->check(not_empty());
  command
      .add_option("--remat", options.remat,
                  "What stays of the forward pass: everything (none), products (matmuls), the residual stream (stream) "
                  "or each layer's input (block); default: what repeats least and fits")
      ->check(not_empty());
}

/// Options that only plans of training read, and those that only plans of generation do.
constexpr std::array kOfTraining = {"--mesh",   "--torus",         "--strategy",  "--pods",
                                    "--seq",    "--batch-tokens",  "--tokens",    "--capacity",
                                    "--stages", "--micro-batches", "--timetable", "--remat"};
constexpr std::array kOfGeneration = {"--prompt-tokens", "--new-tokens", "--context", "--batch",
                                      "--cache-dtype",   "--step-limit", "--plot"};

void add_generation(CLI::App& command, GenerateOptions& options) {
  constexpr std::uint64_t kMostTokensOfACache = std::uint64_t{1} << 30;
  constexpr std::uint64_t kMostBatch = std::uint64_t{1} << 20;
  CLI::Option* generate = command.add_flag("--generate", options.asked, "Plan generation in place of training");
  add_whole_option(command, {.name = "--prompt-tokens", .help = "Tokens of a prompt", .most = kMostTokensOfACache},
                   options.prompt_tokens);
  add_whole_option(command,
                   {.name = "--new-tokens", .help = "Tokens that follow a prompt", .most = kMostTokensOfACache},
                   options.new_tokens);
  add_whole_option(command,
                   {.name = "--context",
                    .help = "Tokens that each cache has room for and a step reads (default: prompt and new tokens)",
                    .most = 2 * kMostTokensOfACache},
                   options.context);
  add_whole_option(
      command,
      {.name = "--batch", .help = "Sequences that generate together (default: as many as fit)", .most = kMostBatch},
      options.batch);
  command
      .add_option("--cache-dtype", options.cache_dtype,
                  "Of keys and values: bf16 or int8 (default: bf16 beside bf16, else int8)")
      ->check(not_empty());
  add_decimal_option(
      command,
      {.name = "--step-limit",
       .help = "Seconds that a decode step may take, as in 0.015: which batch and chips make most tokens",
       .positive = true},
      options.step_limit);
  command.add_option("--plot", options.plot, "Draw latency against throughput into this SVG file")->check(not_empty());
  for (const char* name : kOfTraining) generate->excludes(command.get_option(name));
  for (const char* name : kOfGeneration) command.get_option(name)->needs(generate);
}

}  // namespace

void add_plan(CLI::App& app, Command& run) {
  CLI::App* command =
      app.add_subcommand("plan", "Plan training or generation: parameters, FLOPs, memory, time, best mesh or slice");
  const auto options = std::make_shared<PlanOptions>();
  command->add_option("--model", options->model, "A model's name or a Hugging Face config.json")
      ->required()
      ->check(not_empty());
  add_machine(*command, *options);
  add_training(*command, *options);
  command
      ->add_option(
          "--dtype", options->dtype,
          "Of weights and activations (default: bf16, f32 on a CPU); with --generate of weights: also int8, int4")
      ->check(not_empty());
  add_generation(*command, options->generate);
  add_json_option(*command, options->common);
  add_report_option(*command, options->report, "the plan");
  command->footer(kPlanFooter);
  command->callback([options, &run] { run = [options] { return plan(*options); }; });
}

}  // namespace shardline::tools
