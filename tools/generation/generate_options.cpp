#include "tools/generation/generate_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <limits>

#include "runtime/base/check.h"
#include "tools/options/number_option.h"
#include "tools/trace/tracing.h"

namespace shardline::tools {
namespace {

void add_choice_options(CLI::App& command, ChoiceOptions& choice) {
  add_decimal_option(command, {.name = "--temperature", .help = "0 takes the likeliest token"}, choice.temperature);
  add_whole_option(command,
                   {.name = "--top-k", .help = "Choose among so many of the likeliest tokens; 0: all", .least = 0},
                   choice.top_k);
  add_decimal_option(command,
                     {.name = "--top-p",
                      .help = "Choose among the likeliest tokens that have this share of the probability; 1: all",
                      .positive = true,
                      .most = 1},
                     choice.top_p);
  add_decimal_option(command,
                     {.name = "--min-p",
                      .help = "Leave out tokens below this share of the largest probability; 0: none",
                      .most = 1,
                      .below = true},
                     choice.min_p);
  add_decimal_option(command,
                     {.name = "--repetition-penalty",
                      .help = "Divide positive logits of tokens that are there already by it; 1: none",
                      .positive = true},
                     choice.repetition_penalty);
  add_whole_option(command,
                   {.name = "--logprobs",
                    .help = "Of each token, write so many of the likeliest into the record, with log probabilities",
                    .least = 0,
                    .most = 1000},
                   choice.likeliest);
}

}  // namespace

void add_generate_options(CLI::App& command, GenerateFlags& flags) {
  add_common_options(command, flags.common);
  add_machine_options(command, flags.common.machine);
  command.add_option("--load", flags.load, "Folder of the model: config.json and weights, in one file or several")
      ->required()
      ->check(not_empty());
  command
      .add_option("--tokenizer", flags.tokenizer,
                  "A tokenizer.json (byte-level BPE). Default: that in the folder of the model; without one, bytes")
      ->check(not_empty());
  CLI::Option* prompt = command.add_option("--prompt", flags.prompt, "Text to continue");
  CLI::Option* prompts =
      command.add_option("--prompts", flags.prompts, "File of texts to continue, one a line")->check(not_empty());
  prompt->excludes(prompts);
  add_whole_option(command,
                   {.name = "--tokens", .help = "The most tokens to add to a text", .least = 0, .most = 1000000000},
                   flags.tokens);
  add_whole_option(command,
                   {.name = "--context",
                    .help = "The most tokens of a text with its prompt; default: what is needed",
                    .most = std::numeric_limits<std::int32_t>::max()},
                   flags.context);
  add_whole_option(command,
                   {.name = "--chunk", .help = "The most tokens of each prompt that are read at once", .least = 1},
                   flags.chunk);
  command
      .add_option("--cache-dtype", flags.cache_dtype,
                  "Type in which keys and values are stored: f32, bf16 or f64, no wider than --dtype [--dtype]")
      ->check(not_empty());
  command
      .add_option("--strategy", flags.strategy,
                  "Roles on mesh axes in decode, tp_rep=X,rep_b=Y; auto takes the cheapest by price [auto]")
      ->check(not_empty());
  command
      .add_option("--prefill-strategy", flags.prefill_strategy,
                  "How the work of prefill is split; default: as decode's, or by auto the cheapest given that")
      ->check(not_empty());
  command
      .add_option("--prefill-state", flags.prefill_state,
                  "Of parameters and caches: shared with decode; or own, as a server for prefill has: in layouts of "
                  "prefill, and the caches are resharded once [shared]")
      ->check(not_empty());
  add_choice_options(command, flags.choice);
  command.add_option("--stop", flags.stops, "Text that ends a text; may be given several times")
      ->allow_extra_args(false)
      ->check(not_empty());
  command.add_flag("--ignore-eos", flags.ignore_end, "Go on after tokens that end a text");
  add_schedule_options(command, flags.schedule, "Layers by which weights are gathered ahead, where this overlaps");
  add_trace_option(command, flags.trace);
  add_report_option(command, flags.report, "the run");
}

std::optional<DType> cache_dtype_of(const GenerateFlags& flags) {
  if (flags.cache_dtype.empty()) return std::nullopt;
  const DType dtype = dtype_of(flags.common);
  const std::vector<DType>& known = flags.common.dtypes;
  const auto named =
      std::find_if(known.begin(), known.end(), [&](DType each) { return name_of(each) == flags.cache_dtype; });
  require(named != known.end(), "--cache-dtype {}: f32, bf16 or f64", flags.cache_dtype);
  require(
      size_of(*named) <= size_of(dtype),
      "--cache-dtype {}: keys and values are computed in {} (--dtype), and a wider cache would hold the same numbers",
      flags.cache_dtype, name_of(dtype));
  return *named;
}

CommandFiles files_of(const GenerateFlags& flags) {
  CommandFiles files = files_of(flags.common);
  files.inputs.push_back({"--tokenizer", "tokenizer", flags.tokenizer});
  files.inputs.push_back({"--prompts", "file of prompts", flags.prompts});
  files.input_folders.push_back({"--load", "model", flags.load});
  add_trace_files(files, flags.trace);
  files.outputs.push_back({"--report", "page", flags.report});
  return files;
}

}  // namespace shardline::tools
