#include "tools/generation/generate_report.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "program/plan/fused_lines.h"
#include "runtime/base/statistics.h"
#include "tools/report/report.h"

namespace shardline::tools {
namespace {

/// The median, or 0 of nothing.
Seconds median_of(const std::vector<Seconds>& times) { return times.empty() ? Seconds() : median(times); }

int kept_runs(const Trace& trace) {
  return trace.labels().empty() ? 0 : static_cast<int>(trace.spans().size() / trace.labels().size());
}

/// Collective over all ranks: adds the operations of a program, and its lines.
void join(Job& job, Generator& generator, Executor& executor, PhaseRecord& record) {
  executor.align();
  const Trace& trace = executor.trace();
  record.timed_runs = kept_runs(trace);
  std::vector<KindSummary> kinds = summarise(trace.labels(), measure(trace, generator.engine()));
  record.kinds.insert(record.kinds.end(), kinds.begin(), kinds.end());
  for (std::string& line : fused_lines(executor.compiled().program(), executor.compiled().schedule())) {
    record.program.push_back(std::move(line));
  }
  Seconds waited, all;
  for (const Span& span : trace.spans()) {
    waited += span.exposed;
    all += span.end - span.begin;
  }
  record.waiting = std::max(record.waiting, job.world().max(all.value > 0 ? waited / all : 0));
}

/// Collective over all ranks.
ReshardRecord reshard_record(Job& job, Generator& generator, const TextRun& run) {
  const CacheReshard& planned = *generator.plan().reshard();
  ReshardRecord record;
  record.sent = planned.sent();
  record.phase.name = "reshard";
  record.phase.times = {run.reshard};
  record.phase.whole = run.reshard;
  record.phase.predicted = planned.compiled->time().total * static_cast<double>(planned.layers);
  join(job, generator, *generator.resharder(), record.phase);
  record.phase.timed_runs = 1;
  return record;
}

/// A step of decode on one rank: what `hardware` predicts.
Seconds predicted_alone(const GenerationPlan& plan, const TransformerConfig& config,
                        const roofline::Hardware& hardware) {
  const GenerationPhase alone = decode_phase(config, plan.form(), AbstractMesh(), {});
  alone.compiled->predict_by(hardware);
  return alone.compiled->time().total;
}

/// The share of the places that a later chunk of prefill sees, on average.
double share_of_later(const GenerationPlan& plan, const std::vector<std::vector<std::int32_t>>& prompts) {
  double places = 0, chunks = 0;
  for (Index begin = plan.chunk(); begin < plan.form().longest; begin += plan.chunk()) {
    chunks += 1;
    for (const auto& prompt : prompts) {
      const auto length = static_cast<Index>(prompt.size());
      if (length > begin) places += static_cast<double>(std::min(length, begin + plan.chunk()));
    }
  }
  const double all = chunks * static_cast<double>(plan.form().context) * static_cast<double>(prompts.size());
  return all > 0 ? places / all : 0;
}

Json phase_json(const PhaseRecord& record) {
  Json json = {{"tokens", record.tokens}};
  if (record.times.empty()) {
    json["time_s"] = nullptr;
    json["tokens_per_s"] = nullptr;
  } else {
    const auto [least, most] = std::minmax_element(record.times.begin(), record.times.end());
    json["time_s"] = {{"min", least->value}, {"median", median_of(record.times).value}, {"max", most->value}};
    json["tokens_per_s"] = record.tokens_per_second();
  }
  json["whole_s"] = record.whole.value;
  json["waiting_share"] = record.waiting;
  json["predicted_s"] = record.predicted.value;
  json["bound_s"] = record.bound.bound().value;
  json["bound"] = {{"memory_s", record.bound.memory.value}, {"math_s", record.bound.math.value}};
  json["limiter"] = roofline::name_of(record.bound.limiter());
  json["operations"] = kinds_json(record.kinds);
  return json;
}

std::string phase_line(const PhaseRecord& record) {
  const Seconds measured = median_of(record.times);
  return fmt::format("{:8} {:>7} {:>10} {:>10.1f} {:>10} {:>6.2f} {:>10} {:>6.2f}  {}\n", record.name, record.tokens,
                     to_string(measured), record.tokens_per_second(), to_string(record.predicted),
                     measured / record.predicted, to_string(record.bound.bound()), measured / record.bound.bound(),
                     roofline::name_of(record.bound.limiter()));
}

std::string reshard_line(const ReshardRecord& record) {
  const Seconds measured = record.phase.whole, predicted = record.phase.predicted;
  const bool moves = predicted > Seconds();
  return fmt::format("{:8} {:>7} {:>10} {:>10} {:>10} {:>6} {:>10} {:>6}  {}\n", record.phase.name, "-",
                     to_string(measured), "-", to_string(predicted),
                     moves ? fmt::format("{:.2f}", measured / predicted) : "-", "-", "-",
                     moves ? "moving " + to_string(record.sent) : "nothing moves");
}

Json reshard_json(const ReshardRecord& record) {
  return {{"bytes", record.sent.value},
          {"time_s", record.phase.whole.value},
          {"predicted_s", record.phase.predicted.value},
          {"waiting_share", record.phase.waiting},
          {"operations", kinds_json(record.phase.kinds)}};
}

/// Why the ranks are slower than one.
std::string reason_of_loss(const GenerateRecord& record) {
  if (record.decode.waiting > 0.5) return "they wait for each other longer than they save";
  return record.one_node ? "what they save in reading goes into moving"
                         : "the links between nodes take more than they save";
}

}  // namespace

double PhaseRecord::tokens_per_second() const {
  const double seconds = whole.value;
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

double expected_share(Index sequences, Index prompt_tokens, Index added, Index context) {
  const double prompt = static_cast<double>(prompt_tokens) / static_cast<double>(sequences);
  return std::min(1.0, (prompt + static_cast<double>(added) / 2) / static_cast<double>(context));
}

GenerateRecord record_of(Job& job, Generator& generator, const TransformerConfig& config, const TextRun& run,
                         const std::vector<std::vector<std::int32_t>>& prompts) {
  const GenerationPlan& plan = generator.plan();
  const roofline::Hardware& hardware = job.predictions();
  GenerateRecord record;
  record.sequences = plan.form().sequences;
  record.context = plan.form().context;
  record.cache_bytes = cache_bytes(plan.decode(), 0);
  if (plan.form().own_prefill) record.cache_bytes += cache_bytes(plan.first(), 0);
  record.first_token = run.first_token;
  record.one_node = job.mesh().axes().ranks() == 1 || job.mesh().group(job.mesh().axes().axes()).one_node;
  PhaseRecord& prefill = record.prefill;
  prefill.name = "prefill";
  for (const auto& prompt : prompts) prefill.tokens += static_cast<Index>(prompt.size());
  prefill.times = {run.prefill};
  prefill.whole = run.prefill;
  prefill.predicted = plan.first().compiled->time().total;
  prefill.bound = bound_of(plan.first(), 0, hardware);
  join(job, generator, generator.first(), prefill);
  if (plan.later()) {
    const auto more = static_cast<double>((plan.form().longest - 1) / plan.chunk());
    const PhaseBound later = bound_of(*plan.later(), share_of_later(plan, prompts), hardware);
    prefill.predicted += plan.later()->compiled->time().total * more;
    prefill.bound.memory += later.memory * more;
    prefill.bound.math += later.math * more;
    join(job, generator, *generator.later(), prefill);
  }
  prefill.timed_runs = 1;
  if (plan.reshard()) record.reshard = reshard_record(job, generator, run);
  PhaseRecord& decode = record.decode;
  decode.name = "decode";
  decode.tokens = run.decoded;
  decode.times = run.steps;
  decode.whole = run.decoding;
  decode.predicted = plan.decode().compiled->time().total;
  record.seen = run.steps.empty() ? plan.form().seen : run.seen;
  decode.bound = bound_of(plan.decode(), record.seen, hardware);
  join(job, generator, generator.decoder(), decode);
  record.alone = job.mesh().ranks() > 1 ? predicted_alone(plan, config, hardware) : decode.predicted;
  return record;
}

std::string result_text(const Job& job, const GenerateRecord& record) {
  std::string text = fmt::format("{:8} {:>7} {:>10} {:>10} {:>10} {:>6} {:>10} {:>6}  {}\n", "", "tokens", "time",
                                 "tokens/s", "predicted", "ratio", "bound", "ratio", "bound by");
  text += phase_line(record.prefill);
  if (record.reshard) text += reshard_line(*record.reshard);
  if (record.decode.times.empty()) return text;
  text += phase_line(record.decode);
  const Seconds step = median_of(record.decode.times);
  text += fmt::format("first token after {}; then {} a step for {} {}; caches {} a rank\n",
                      to_string(record.first_token), to_string(step), record.sequences,
                      record.sequences == 1 ? "sequence" : "sequences", to_string(record.cache_bytes));
  if (job.mesh().ranks() == 1) return text;
  text +=
      fmt::format("collectives and waiting for ranks: {:.0f}% of a step of decode; one rank is predicted to take {}",
                  100 * record.decode.waiting, to_string(record.alone));
  if (record.alone < record.decode.predicted) {
    text += fmt::format(", less than these {} ranks: {}", job.mesh().ranks(), reason_of_loss(record));
  }
  return text + "\n";
}

void add_keys(Json& json, const GenerateRecord& record) {
  json["prefill"] = phase_json(record.prefill);
  json["decode"] = phase_json(record.decode);
  if (record.batches) {
    json["decode"]["batches"] = measured_json(*record.batches);
    json["decode"]["batches_left_out"] = left_out_json(*record.batches);
  }
  if (record.reshard) json["reshard"] = reshard_json(*record.reshard);
  json["time_to_first_token_s"] = record.first_token.value;
  json["context"] = record.context;
  json["cache_bytes"] = record.cache_bytes.value;
  json["program"] = {{"prefill", record.prefill.program}, {"decode", record.decode.program}};
  if (record.reshard) json["program"]["reshard"] = record.reshard->phase.program;
}

}  // namespace shardline::tools
