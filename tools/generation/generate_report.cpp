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

/// Collective over the mesh: the operations of a program, and its lines.
void join(Generator& generator, Executor& executor, PhaseRecord& record) {
  executor.align();
  const Trace& trace = executor.trace();
  record.timed_runs = kept_runs(trace);
  record.kinds = summarise(trace.labels(), measure(trace, generator.engine()));
  record.program = fused_lines(executor.compiled().program(), executor.compiled().schedule());
}

/// A step of decode on one rank: what `hardware` predicts.
Seconds predicted_alone(const GenerationPlan& plan, const TransformerConfig& config,
                        const roofline::Hardware& hardware) {
  GenerationForm form = plan.form();
  form.decode = {};
  form.prefill = {};
  const GenerationPlan alone(config, form, AbstractMesh());
  alone.decode().compiled->predict_by(hardware);
  return alone.decode().compiled->time().total;
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

/// The time in collectives of a run, of the slowest rank.
Seconds in_collectives(const PhaseRecord& record) {
  Seconds sum;
  for (const KindSummary& kind : record.kinds) {
    if (!kind.axis.empty()) sum += kind.exposed;
  }
  return record.timed_runs == 0 ? sum : sum / static_cast<double>(record.timed_runs);
}

}  // namespace

Seconds PhaseRecord::total() const {
  Seconds sum;
  for (const Seconds& time : times) sum += time;
  return sum;
}

double PhaseRecord::tokens_per_second() const {
  const double seconds = total().value;
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

double expected_share(Index sequences, Index prompt_tokens, Index added, Index context) {
  const double prompt = static_cast<double>(prompt_tokens) / static_cast<double>(sequences);
  return std::min(1.0, (prompt + static_cast<double>(added) / 2) / static_cast<double>(context));
}

GenerateRecord record_of(Job& job, Generator& generator, const TransformerConfig& config, const TextRun& run,
                         Index prompt_tokens) {
  const GenerationPlan& plan = generator.plan();
  const roofline::Hardware& hardware = job.predictions();
  GenerateRecord record;
  record.sequences = plan.form().sequences;
  record.context = plan.form().context;
  record.cache_bytes = cache_bytes(plan.decode(), 0);
  record.first_token = run.first_token;
  PhaseRecord& prefill = record.prefill;
  prefill.name = "prefill";
  prefill.tokens = prompt_tokens;
  prefill.times = {run.prefill};
  prefill.predicted = plan.first().compiled->time().total;
  prefill.bound = bound_of(plan.first(), 0, hardware);
  const auto chunks = static_cast<double>((plan.form().longest + plan.chunk() - 1) / plan.chunk());
  if (plan.later()) {
    const PhaseBound later = bound_of(*plan.later(), plan.form().seen / 2, hardware);
    prefill.predicted += plan.later()->compiled->time().total * (chunks - 1);
    prefill.bound.memory += later.memory * (chunks - 1);
    prefill.bound.math += later.math * (chunks - 1);
  }
  join(generator, generator.first(), prefill);
  PhaseRecord& decode = record.decode;
  decode.name = "decode";
  decode.tokens = run.decoded;
  decode.times = run.steps;
  decode.predicted = plan.decode().compiled->time().total;
  decode.bound = bound_of(plan.decode(), plan.form().seen, hardware);
  join(generator, generator.decoder(), decode);
  record.alone = job.mesh().ranks() > 1 ? predicted_alone(plan, config, hardware) : decode.predicted;
  return record;
}

std::string result_text(const Job& job, const GenerateRecord& record) {
  std::string text = fmt::format("{:8} {:>7} {:>10} {:>10} {:>10} {:>6} {:>10} {:>6}  {}\n", "", "tokens", "time",
                                 "tokens/s", "predicted", "ratio", "bound", "ratio", "bound by");
  text += phase_line(record.prefill);
  if (record.decode.times.empty()) return text;
  text += phase_line(record.decode);
  const Seconds step = median_of(record.decode.times);
  text += fmt::format("first token after {}; then {} a step for {} {}; caches {} a rank\n",
                      to_string(record.first_token), to_string(step), record.sequences,
                      record.sequences == 1 ? "sequence" : "sequences", to_string(record.cache_bytes));
  if (job.mesh().ranks() == 1) return text;
  const Seconds waits = in_collectives(record.decode);
  text +=
      fmt::format("collectives and waiting for ranks: {:.0f}% of a step of decode; one rank is predicted to take {}",
                  100 * (waits / step), to_string(record.alone));
  if (record.alone < step) {
    text += fmt::format(", so these {} ranks lose: {}", job.mesh().ranks(),
                        waits * 2 > step - record.alone ? "they wait for each other longer than they save"
                                                        : "they share the bandwidth of one memory");
  }
  return text + "\n";
}

void add_keys(Json& json, const GenerateRecord& record) {
  json["prefill"] = phase_json(record.prefill);
  json["decode"] = phase_json(record.decode);
  json["time_to_first_token_s"] = record.first_token.value;
  json["context"] = record.context;
  json["cache_bytes"] = record.cache_bytes.value;
  json["program"] = {{"prefill", record.prefill.program}, {"decode", record.decode.program}};
}

}  // namespace shardline::tools
