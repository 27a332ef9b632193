#include "tools/generate.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/shared/arena.h"
#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/end_tokens.h"
#include "models/generation/prompts.h"
#include "models/planning/generation_search.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"
#include "tools/generation/batch_times.h"
#include "tools/generation/generate_options.h"
#include "tools/generation/generate_page.h"
#include "tools/generation/generate_report.h"
#include "tools/generation/text_run.h"
#include "tools/job.h"
#include "tools/options/schedule_options.h"
#include "tools/tokens/tokenizer_option.h"
#include "tools/trace/last_run.h"
#include "tools/trace/tracing.h"

namespace shardline::tools {
namespace {

constexpr const char* kGenerateFooter = R"(Examples:
  shardline generate --load build/model --prompt "#include <vector>" --tokens 200
  mpirun -n 2 shardline generate --load build/model --prompts texts.txt --strategy tp_rep=X --temperature 0

Prefill reads the prompts and fills the caches of keys and values; decode adds a token to every text in each step. Both
are sharded programs over one state, or over two with a reshard of the caches between them (--prefill-state own).
--report also measures decode of 1 to 32 sequences. Roles of --strategy: those of training but pp, and those of
generation alone: tp_rep (heads and F, the stream whole), ep_rep (with experts), rep_b and rep_s beside them (caches
split by sequence or by place), ws (D of the weights), cp_s (tokens of a prompt, for --prefill-strategy).

A prompt becomes tokens by --tokenizer, or by the tokenizer.json in the folder of the model. A model that was trained
on text without a tokenizer reads bytes, and a token is a byte. Added tokens may stand in the prompt, as <|endoftext|>.
A text ends early with a token that ends one: eos_token_id of config.json and generation_config.json, <|endoftext|>,
<|end_of_text|>, </s>, <|im_end|>, <|eot_id|>, or byte 0 of bytes. What a text becomes depends on the seed, its number
and its tokens, and not on the others beside it nor on the mesh: in f64 always, in f32 and bf16 but for rounding.)";

/// Collective over all ranks: the prompts and all that ends a text.
TextRequest request_of(const Job& job, const GenerateFlags& flags, TextEncoder& encoder) {
  TextRequest request{.tokens = flags.tokens, .choice = flags.choice, .stops = flags.stops};
  if (flags.prompt) {
    require(!flags.prompt->empty(), "--prompt is empty: give at least one byte to continue");
    request.prompts = {*flags.prompt};
  } else {
    require(!flags.prompts.empty(), "give --prompt TEXT, or --prompts FILE with a text on each line");
    request.prompts =
        parse_prompts(mpi::on_root(job.world(), 0, [&] { return read_file(flags.prompts); }), flags.prompts);
  }
  for (std::size_t i = 0; i < request.prompts.size(); ++i) {
    request.ids.push_back(encoder.encode(request.prompts[i]));
    require(!request.ids.back().empty(), "{}: the tokenizer makes no token of it",
            flags.prompt ? "--prompt" : fmt::format("{}, line {}", flags.prompts, i + 1));
  }
  if (!flags.ignore_end) request.ends = end_tokens_of(job.world(), flags.load, encoder);
  return request;
}

/// Tokens of all prompts, and of the longest.
std::pair<Index, Index> prompt_tokens(const TextRequest& request) {
  Index all = 0, longest = 0;
  for (const auto& ids : request.ids) {
    all += static_cast<Index>(ids.size());
    longest = std::max(longest, static_cast<Index>(ids.size()));
  }
  return {all, longest};
}

/// What is generated, without strategies.
GenerationForm form_of(const Job& job, const GenerateFlags& flags, const TextRequest& request) {
  const auto [all, longest] = prompt_tokens(request);
  const auto sequences = static_cast<Index>(request.ids.size());
  const Index context = flags.context.value_or(longest + flags.tokens);
  require(context <= std::numeric_limits<std::int32_t>::max(),
          "--tokens {}: a text with its prompt would have {} tokens, and at most {} are legal", flags.tokens, context,
          std::numeric_limits<std::int32_t>::max());
  const Index least = longest + std::min<Index>(flags.tokens, 1);
  require(least <= context, "--context {}: the longest prompt has {} tokens{}; {} works", context, longest,
          flags.tokens > 0 ? ", and a text needs room for one more" : "", least);
  return {.sequences = sequences,
          .context = context,
          .longest = longest,
          .chunk = flags.chunk.value_or(0),
          .dtype = job.dtype(),
          .cache_dtype = cache_dtype_of(flags),
          .decode = {},
          .own_prefill = flags.prefill_state == "own",
          .seen = expected_share(sequences, all, std::min(flags.tokens, context - longest), context),
          .how = {.scheduling = schedule_options(flags.schedule), .prices = job.prices()}};
}

std::string choice_text(const PricedGeneration& priced, bool of_prefill) {
  const auto text = [](const char* phase, const std::vector<PricedPhase>& phases) {
    std::string line =
        fmt::format("{}: {}, predicted {}", phase, to_string(phases[0].strategy), to_string(phases[0].time));
    constexpr std::size_t kListed = 4;
    for (std::size_t i = 1; i < std::min(phases.size(), kListed); ++i) {
      line += fmt::format("; {} {}", to_string(phases[i].strategy), to_string(phases[i].time));
    }
    return line + "\n";
  };
  return text("decode", priced.decode) + (of_prefill ? text("prefill", priced.prefill) : "");
}

/// Collective over all ranks: gives the form its strategies. Returns what is said of a choice by price.
std::string choose_strategies(const Job& job, const GenerateFlags& flags, const TransformerConfig& config,
                              GenerationForm& form) {
  const AbstractMesh& mesh = job.mesh().axes();
  const bool chooses = flags.strategy == "auto";
  if (!chooses) form.decode = parse_strategy(flags.strategy, mesh, RoleUse::generation);
  const bool auto_prefill = flags.prefill_strategy == "auto";
  require(chooses || !auto_prefill, "--prefill-strategy auto: only beside --strategy auto; a strategy is needed here");
  if (!flags.prefill_strategy.empty() && !auto_prefill) {
    form.prefill = parse_strategy(flags.prefill_strategy, mesh, RoleUse::generation);
  }
  if (!chooses || mesh.ranks() == 1) {
    if (chooses) form.decode = parse_strategy("", AbstractMesh(), RoleUse::generation);
    for (const Axis& axis : chooses ? mesh.axes() : Axes{}) form.decode.emplace_back(axis, default_role());
    return "";
  }
  const bool of_prefill = !form.prefill;
  const GenerationSearch search{.memory_per_rank = job.machine().memory_per_rank, .prefill = of_prefill};
  const PricedGeneration priced = price_generation(config, form, mesh, job.prices(), search);
  form.decode = priced.decode.front().strategy;
  if (of_prefill) form.prefill = priced.prefill.front().strategy;
  return choice_text(priced, of_prefill);
}

MemoryNeed need_of(const GenerationPlan& plan, Index rank) {
  return {.own = plan.memory(rank), .shared = plan.arena()};
}

/// Collective over all ranks: refuses a plan that does not fit, and says how many sequences would.
void require_memory(const Job& job, const TransformerConfig& config, const GenerationPlan& plan) {
  const Index rank = job.mesh().rank();
  job.require_memory("generate", need_of(plan, rank), [&](const auto& fits) {
    Index least = 0, most = plan.form().sequences;  // `most` does not fit
    while (most - least > 1) {
      GenerationForm form = plan.form();
      form.sequences = (least + most) / 2;
      (fits(need_of(GenerationPlan(config, form, job.mesh().axes()), rank)) ? least : most) = form.sequences;
    }
    double caches = cache_bytes(plan.decode(), rank).value;
    if (plan.form().own_prefill) caches += cache_bytes(plan.first(), rank).value;
    const std::string size = fmt::format("the caches of {} sequences of {} tokens take {} of it", plan.form().sequences,
                                         plan.form().context, to_string(Bytes(caches)));
    if (least == 0) return size + "; a strategy that shards more, a shorter --context or bf16 would need less";
    return fmt::format("{}; {} sequences would fit", size, least);
  });
}

/// Collective over all ranks: gives the engine the arena of a run and of the trials after it. If there is none, the
/// generator says why.
void make_room(Job& job, Bytes bytes) {
  if (bytes > Bytes(0)) collectives::give_arena(job.engine(), static_cast<Index>(bytes.value));
}

/// Collective over all ranks: decode of other numbers of sequences, for about as long as the run took and some seconds.
BatchTimes measured_batches(Job& job, BatchTrials& trials, Generator& generator, const GenerateRecord& record,
                            const TextRun& run) {
  constexpr Seconds kMore(10);
  const BatchTime own{record.sequences, record.decode.times, record.decode.predicted, record.decode.bound};
  return trials.measure(job, generator, own, record.seen, run.prefill + run.reshard + run.decoding + kMore);
}

Json outputs_json(const TextRequest& request, const TextRun& run) {
  Json outputs = Json::array();
  for (std::size_t b = 0; b < run.texts.size(); ++b) {
    const ContinuedText& text = run.texts[b];
    Json output = {{"prompt", request.prompts[b]},
                   {"prompt_tokens", request.ids[b].size()},
                   {"text", text.text},
                   {"tokens", text.tokens},
                   {"finish_reason", text.finish_reason}};
    for (const TokenChoice& choice : text.choices) {
      Json likely = Json::array();
      for (const LikelyToken& each : choice.likeliest) likely.push_back({each.token, each.log_probability});
      output["logprobs"].push_back(
          {{"token", choice.chosen.token}, {"logprob", choice.chosen.log_probability}, {"likeliest", likely}});
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// The texts of several prompts, one after the other. A single one was shown as it came.
std::string texts_of(const TextRequest& request, const TextRun& run) {
  std::string all;
  for (std::size_t b = 0; b < run.texts.size() && run.texts.size() > 1; ++b) {
    all += fmt::format("[{}] {}{}\n", b + 1, request.prompts[b], run.texts[b].text);
  }
  return all;
}

int generate(const GenerateFlags& flags) {
  require_legal(flags.choice);
  require(flags.prefill_state == "shared" || flags.prefill_state == "own",
          "--prefill-state {}: legal are shared (with decode) and own", flags.prefill_state);
  Job job(flags.common, files_of(flags));
  const Checkpoint checkpoint = open_checkpoint(job.world(), flags.load);
  for (const std::string& remark : checkpoint.remarks) job.note(remark);
  TextEncoder encoder = tokens_for(job, flags.tokenizer, flags.load, checkpoint).encoder;
  const TextRequest request = request_of(job, flags, encoder);
  GenerationForm form = form_of(job, flags, request);
  const std::string choice = choose_strategies(job, flags, checkpoint.config, form);
  GenerationPlan plan(checkpoint.config, form, job.mesh().axes());
  require_memory(job, checkpoint.config, plan);
  std::optional<BatchTrials> trials;
  if (!flags.report.empty()) {
    trials.emplace(job, checkpoint.config, plan, need_of(plan, job.mesh().rank()));
    make_room(job, plan.arena() + trials->shared());
  }
  plan.predict_by(job.predictions());
  Generator generator(job.engine(), std::move(plan), [&](State& state, const Model& model) {
    load_parameters(checkpoint, state, model, job.mesh().comm());
  });
  job.introduce();
  if (!generator.arena_obstacle().empty()) {
    job.note(fmt::format("collectives go by messages: {}", generator.arena_obstacle()));
  }
  if (!choice.empty()) job.note(choice.substr(0, choice.size() - 1));
  Tracing tracing(job, flags.trace, generator.decoder().trace(), job.engine());
  generator.decoder().set_recording(tracing.recording());
  job.other_work().begin();
  const TextRun run = continue_texts(job, generator, encoder, request);
  job.other_work().end();
  generator.decoder().set_recording(nullptr);
  GenerateRecord record = record_of(job, generator, checkpoint.config, run, request.ids);
  job.print(texts_of(request, run));
  job.print(result_text(job, record));
  if (trials) record.batches = measured_batches(job, *trials, generator, record, run);
  Json json = job.header("shardline.generate/1", "generate");
  json["strategy"] = to_string(generator.plan().form().decode);
  json["prefill_strategy"] = to_string(generator.plan().form().prefill.value_or(generator.plan().form().decode));
  json["cache_dtype"] = name_of(form.cache_dtype.value_or(form.dtype));
  json["prefill_state"] = flags.prefill_state;
  json["outputs"] = outputs_json(request, run);
  add_keys(json, record);
  job.write_json(json);
  if (!flags.report.empty()) {
    const TimelineFigure timeline = last_run(generator.decoder().trace(), job.engine(), job.world());
    job.write_file(flags.report, to_html(page_of(job, generator.plan(), checkpoint.config, record, timeline)));
  }
  return tracing.write("generate") ? 0 : 1;
}

}  // namespace

void add_generate(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("generate", "Continue texts with a trained model");
  command->alias("sample");
  const auto flags = std::make_shared<GenerateFlags>();
  add_generate_options(*command, *flags);
  command->footer(kGenerateFooter);
  command->callback([flags, &run] { run = [flags] { return generate(*flags); }; });
}

}  // namespace shardline::tools
