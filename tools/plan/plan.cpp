#include "tools/plan/plan.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "models/architecture/known_models.h"
#include "program/timetable/named.h"
#include "runtime/base/check.h"
#include "tools/options/number_option.h"
#include "tools/output/output.h"
#include "tools/output/output_files.h"
#include "tools/output/quiet_record.h"
#include "tools/plan/plan_answer.h"
#include "tools/plan/plan_page.h"

namespace shardline::tools {
namespace {

int plan(const PlanOptions& options) {
  CommandFiles files = files_of(options.common);
  if (!is_known_model(options.model)) files.inputs.push_back({"--model", "model", options.model});
  files.outputs.push_back({"--report", "page", options.report});
  check_files(files);
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
an axis C after it (context parallelism). No MPI is started and nothing is run.)";

void add_machine(CLI::App& command, PlanOptions& options) {
  add_machine_options(command, options.common.machine)
      ->excludes(add_hardware_option(command, options.hardware, "Plan for"));
  add_whole_option(command,
                   {.name = "--chips",
                    .help = "Chips in all; meshes of the largest power of two not above them are searched",
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
      command, {.name = "--utilisation", .help = "Share of the peak that training reaches", .least = 0.001, .most = 1},
      options.utilisation);
  add_decimal_option(command, {.name = "--price-per-hour", .help = "Of a chip, in any currency; 0: not known"},
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

}  // namespace

void add_plan(CLI::App& app, Command& run) {
  CLI::App* command =
      app.add_subcommand("plan", "Plan a training run: parameters, FLOPs, memory, time by strategy, best mesh");
  const auto options = std::make_shared<PlanOptions>();
  command->add_option("--model", options->model, "A model's name or a Hugging Face config.json")
      ->required()
      ->check(not_empty());
  add_machine(*command, *options);
  add_training(*command, *options);
  command->add_option("--dtype", options->dtype, "Of weights and activations (default: bf16, f32 on a CPU)")
      ->check(not_empty());
  add_json_option(*command, options->common);
  add_report_option(*command, options->report, "the plan");
  command->footer(kPlanFooter);
  command->callback([options, &run] { run = [options] { return plan(*options); }; });
}

}  // namespace shardline::tools
