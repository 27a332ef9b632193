#include "tools/plan/plan_page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "program/ir/print.h"
#include "tools/job_machine.h"
#include "tools/output/text.h"
#include "tools/report/plot.h"
#include "tools/report/run_page.h"
#include "tools/version.h"

namespace shardline::tools {
namespace {

constexpr std::size_t kMostCandidates = 12;
constexpr int kDoublings = 6;         ///< of the batch, in both directions
constexpr double kFirstLength = 256;  ///< of sequences
constexpr double kTimesLongest = 16;  ///< times the longest length that is marked

std::string seconds_tick(double value) { return with_prefix(value, "s"); }
std::string tokens_tick(double value) { return with_prefix(value, ""); }

/// Batches around the planned one, half a doubling apart.
std::vector<double> batches_around(double tokens) {
  std::vector<double> batches;
  for (int half = -2 * kDoublings; half <= 2 * kDoublings; ++half) batches.push_back(tokens * std::exp2(half / 2.0));
  return batches;
}

/// By batch size in tokens: the time of each strategy to move data, and the common time to compute,
/// in one layer's forward pass.
struct StrategyCurves {
  std::vector<std::pair<std::string, std::vector<roofline::LayerTime>>> strategies;
  std::vector<double> batches;
};

StrategyCurves curves_of(const ClosedFormQuery& asked) {
  using roofline::CountedPasses;
  StrategyCurves curves{
      {{"FSDP alone", {}}, {"tensor parallelism alone", {}}, {"FSDP and tensor parallelism, best mesh", {}}},
      batches_around(asked.tokens_of_pod())};
  const auto n = static_cast<double>(asked.mesh_chips());
  for (const double batch : curves.batches) {
    ClosedFormQuery query = asked;
    query.tokens = batch * static_cast<double>(asked.pods);
    const roofline::TwoProducts layer = query.layer();
    curves.strategies[0].second.push_back(fsdp_time(layer, query.rates, n, query.torus_axes, CountedPasses::forward));
    curves.strategies[1].second.push_back(tensor_time(layer, query.rates, n, query.torus_axes, CountedPasses::forward));
    const roofline::MixedMesh mesh = best_mixed_mesh(layer, query.rates, query.mesh_chips(), query.x_torus_axes,
                                                     query.y_torus_axes, query.torus_axes, CountedPasses::forward);
    curves.strategies[2].second.push_back(mixed_time(layer, query.rates, mesh, CountedPasses::forward));
  }
  return curves;
}

std::string times_svg(const StrategyCurves& curves, double tokens, Index layers) {
  Plot plot;
  plot.x = {"tokens in a batch", Scaling::decimal, tokens_tick};
  plot.y = {"time of all layers, forward", Scaling::decimal, seconds_tick};
  const auto count = static_cast<double>(layers);
  PlotCurve math{"products (computing)", {}, 6, 0};
  double least = 1e300;
  double most = 0;
  for (std::size_t i = 0; i < curves.batches.size(); ++i) {
    math.points.emplace_back(curves.batches[i], count * curves.strategies[0].second[i].math.value);
  }
  for (std::size_t s = 0; s < curves.strategies.size(); ++s) {
    PlotCurve curve{curves.strategies[s].first + " (moving)", {}, s, s + 1};
    for (std::size_t i = 0; i < curves.batches.size(); ++i) {
      const double time = count * curves.strategies[s].second[i].comms().value;
      curve.points.emplace_back(curves.batches[i], time);
      least = std::min(least, time);
      most = std::max(most, time);
    }
    plot.curves.push_back(curve);
  }
  plot.curves.push_back(math);
  plot.guides.push_back({"this batch", {tokens, least}, {tokens, most}});
  return to_svg(plot);
}

std::string ratios_svg(const StrategyCurves& curves, double tokens) {
  Plot plot;
  plot.x = {"tokens in a batch", Scaling::decimal, tokens_tick};
  plot.y = {"T_math / T_comms, forward", Scaling::decimal, plain_number};
  double least = 1;
  double most = 1;
  for (std::size_t s = 0; s < curves.strategies.size(); ++s) {
    PlotCurve curve{curves.strategies[s].first, {}, s, s + 1};
    for (std::size_t i = 0; i < curves.batches.size(); ++i) {
      const roofline::LayerTime& time = curves.strategies[s].second[i];
      const double ratio = time.math / time.comms();
      curve.points.emplace_back(curves.batches[i], ratio);
      least = std::min(least, ratio);
      most = std::max(most, ratio);
    }
    plot.curves.push_back(curve);
  }
  plot.guides.push_back({"compute-bound above", {curves.batches.front(), 1}, {curves.batches.back(), 1}});
  plot.guides.push_back({"this batch", {tokens, least}, {tokens, most}});
  return to_svg(plot);
}

Section batch_section(const PlanAnswer& answer) {
  const ClosedFormQuery& closed = answer.question.closed;
  const StrategyCurves curves = curves_of(closed);
  const std::string on = fmt::format("{} chips of {}, d_ff {}", closed.mesh_chips(), answer.question.hardware_name,
                                     answer.question.run.config.d_ff);
  return {"Strategies against the batch",
          {Figure{times_svg(curves, closed.tokens_of_pod(), closed.config.layers),
                  fmt::format(
                      "What each strategy moves beside what is computed, by the closed form of the forward pass, on {} "
                      "(the book's figure 16). Where the line of products is above, they hide what moves.",
                      on)},
           Figure{ratios_svg(curves, closed.tokens_of_pod()),
                  fmt::format("The same as ratios of computing to moving, on {} (the book's figure 15).", on)}}};
}

/// "512", "64 K": powers of two by the suffixes that options take.
std::string length_tick(double tokens) {
  return tokens < 1024      ? plain_number(tokens)
         : tokens < 1048576 ? plain_number(tokens / 1024) + " K"
                            : plain_number(tokens / 1048576) + " M";
}

/// The share of attention in a layer's FLOPs against the length of a sequence.
Plot attention_plot(const TransformerConfig& config, Index sequence) {
  Plot plot;
  plot.x = {"T, tokens of a sequence", Scaling::binary, length_tick};
  plot.y = {"share of attention in a layer's FLOPs", Scaling::linear, plain_number};
  PlotCurve computed{"as computed: causal mask, scores twice", {}, 0, 0};
  PlotCurve unmasked{"as the book counts: no mask", {}, 1, 1};
  const auto rule = static_cast<double>(8 * config.d_model);
  const double from = std::min({kFirstLength, static_cast<double>(sequence), rule});
  const double to = std::max(static_cast<double>(sequence), rule) * kTimesLongest;
  for (double length = from; length <= to; length *= 2) {
    const LayerFlops flops = layer_flops(config, static_cast<Index>(length));
    computed.points.emplace_back(length, flops.share());
    unmasked.points.emplace_back(length, flops.unmasked_share());
  }
  const double last = computed.points.back().first;
  plot.curves = {computed, unmasked};
  plot.guides = {{"half", {from, 0.5}, {last, 0.5}},
                 {fmt::format("T = 8 D = {}", plain_number(rule)), {rule, 0}, {rule, 1}},
                 {"this plan", {static_cast<double>(sequence), 0}, {static_cast<double>(sequence), 1}}};
  return plot;
}

Section attention_section(const PlanAnswer& answer) {
  const PlannedRun& run = answer.question.run;
  return {
      "Where attention matters",
      {Figure{to_svg(attention_plot(run.config, run.sequence)),
              fmt::format(
                  "Forward and backward pass of one layer. Attention's FLOPs reach those of the rest at T = {}; by the "
                  "book's count, in which every token attends to all, at T = {}. The book's rule T > 8 D (section "
                  "4.3) is for d_ff = 4 D and as many heads of keys as of queries.",
                  answer.equal.computed, answer.equal.unmasked)}}};
}

Section strategies_section(const PlanAnswer& answer) {
  Table table{{"strategy", "mesh", "remat", "bound", "T_math", "T_comms", "idle", "state a chip"}, {}, 4};
  for (const StrategyAnswer& each : answer.strategies) {
    table.rows.push_back({each.name, each.mesh, each.keeps.empty() ? "no room" : each.keeps, each.bound,
                          to_string(each.math), to_string(each.comms), each.idle.value > 0 ? to_string(each.idle) : "",
                          to_string(each.state)});
  }
  Table meshes{{"counted", "X x Y", "bound", "X_opt", "T_math", "T_fsdp", "T_tensor", "tokens a chip needed"}, {}, 3};
  for (const MixedAnswer& each : answer.mixed) {
    meshes.rows.push_back({passes_text(each.passes), dims_text(each.mesh),
                           each.time.compute_bound() ? "compute" : "communication",
                           fmt::format("{:.2f}", each.optimal_x), to_string(each.time.math), to_string(each.time.fsdp),
                           to_string(each.time.tensor), fmt::format("{:.1f}", each.least_tokens_per_chip)});
  }
  return {
      "Closed form",
      {Paragraph{"Two products a layer, large rings, what moves over X and Y adds (section 5.1 of How to Scale Your "
                 "Model); strategies with both passes."},
       table, Paragraph{"The mesh of FSDP (X) and tensor parallelism (Y) that moves least, of all powers of two:"},
       meshes}};
}

Section candidates_section(const PlanAnswer& answer) {
  Table table{{"mesh, on torus axes", "strategy", "batch, remat", "limiter", "fits", "lower", "scheduled", "upper",
               "exposed", "idle", "memory"},
              {},
              5};
  for (std::size_t i = 0; i < std::min(kMostCandidates, answer.candidates.size()); ++i) {
    const PlanCandidate& each = answer.candidates[i];
    const PlannedStep& step = each.step;
    table.rows.push_back({laid_text(step.mesh, each.layout), to_string(step.strategy), form_text(step.form),
                          std::string(name_of(step.limiter)), fits_text(each), to_string(step.lower),
                          to_string(step.scheduled), to_string(step.upper), to_string(step.exposed),
                          step.idle.value > 0 ? to_string(step.idle) : "", to_string(step.memory.total())});
  }
  return {"The whole step priced",
          {Paragraph{fmt::format(
               "Forward, backward and AdamW of all {} layers, the collectives of the derived programs. lower: "
               "the busiest resource alone; upper: nothing overlapped; exposed: waiting for collectives; idle: stages "
               "waiting for each other.",
               answer.question.run.config.layers)},
           table}};
}

std::vector<OperationRow> planned_rows(const std::vector<PlannedKind>& kinds) {
  std::vector<OperationRow> rows;
  for (const PlannedKind& kind : kinds) {
    OperationRow row;
    row.name = kind.axis.empty() ? kind.kind : fmt::format("{} over {}", kind.kind, kind.axis);
    row.short_name = kind.axis.empty() ? kind.kind : fmt::format("{} {}", kind.kind, kind.axis);
    row.product = is_product(kind.kind);
    row.count = static_cast<int>(kind.count);
    row.bytes = kind.bytes;
    row.wire_bytes = kind.wire_bytes;
    row.flops = kind.flops;
    row.predicted = kind.time;
    row.limiter = std::string(name_of(kind.limiter));
    rows.push_back(row);
  }
  number_by_time(rows);
  return rows;
}

Section planned_timeline(const PlannedTimeline& planned) {
  TimelineFigure timeline{{{0, {}}}};
  for (const ScheduledSpan& span : planned.time.spans) {
    const Step& step = planned.program.steps[static_cast<std::size_t>(span.step)];
    const std::string kind = kind_name(planned.program, step);
    const Doing doing = communicates(step.kind) ? Doing::collective
                        : is_product(kind)      ? Doing::product
                                                : Doing::computation;
    timeline.ranks[0].spans.push_back({doing, span.begin, span.end, to_string(planned.program, step)});
  }
  return {
      "Timeline",
      {Figure{
          timeline_svg(timeline),
          "The schedule of a step with at most two layers as the prices have it: above what a rank computes, below its "
          "collectives from when their links take them up."}}};
}

std::vector<std::string> lines_of(const RankProgram& program) {
  std::vector<std::string> lines;
  for (const Step& step : program.steps) lines.push_back(to_string(program, step));
  return lines;
}

Page page_of(const PlanAnswer& answer) {
  const PlanQuestion& question = answer.question;
  Page page;
  page.title = fmt::format("Plan: {} on {} of {}", answer.options.model, answer.all_chips(), question.hardware_name);
  if (!answer.left_out.empty()) {
    page.summary = fmt::format("The closed form; no program has {}, so no step is priced.", answer.left_out);
  } else {
    const PlanCandidate& best = answer.candidates[0];
    page.summary = fmt::format("{} on {}: {} a step of {} tokens, {} binds.", to_string(best.step.strategy),
                               laid_text(best.step.mesh, best.layout), to_string(best.step.scheduled),
                               question.run.tokens, name_of(best.step.limiter));
    if (!best.fits()) page.warnings.emplace_back("No candidate fits the memory of a chip.");
  }
  for (const std::string& remark : question.remarks) page.warnings.push_back(sentence(remark));
  page.facts = {{"Command", command_line()},
                {"Model", fmt::format("{}, {} parameters", answer.options.model, answer.parameters.total())},
                {"Machine", fmt::format("{} of {}, {}", answer.all_chips(), question.hardware_name,
                                        to_string(question.closed.rates.compute))},
                {"Batch", fmt::format("{} tokens in sequences of {}", question.run.tokens, question.run.sequence)},
                {"Element type", std::string(name_of(question.run.dtype))},
                {"Shardline", fmt::format("{}, commit {}", version(), commit())},
                {"Written", utc_now()}};
  return page;
}

/// What the step of the best candidate does.
void add_step(Page& page, const PlanAnswer& answer) {
  const PlanQuestion& question = answer.question;
  const PlanCandidate& best = answer.candidates[0];
  const roofline::Hardware hardware = question.hardware_of({best.step.mesh, best.layout, {}});
  const StepPlanner planner(question.run);
  OperationsView view;
  view.rows = planned_rows(planner.kinds(best.step.mesh, best.step.strategy, hardware, best.step.form));
  view.hardware = &hardware;
  view.source = "of " + question.hardware_name;
  view.run = "step";
  view.whole = {"whole step", best.step.scheduled, std::nullopt};
  page.sections.push_back(bars_section(view));
  page.sections.push_back(roofline_section(view));
  const PlannedTimeline timeline = planner.timeline(best.step.mesh, best.step.strategy, hardware, best.step.form);
  page.sections.push_back(planned_timeline(timeline));
  page.sections.push_back(operations_section(view));
  page.sections.push_back(program_section(lines_of(timeline.program)));
}

}  // namespace

Page plan_page(const PlanAnswer& answer) {
  const bool priced = answer.left_out.empty();
  Page page = page_of(answer);
  page.sections.push_back({"In words", {Preformatted{plan_text(answer), true, "the whole plan as text"}}});
  if (priced) page.sections.push_back(candidates_section(answer));
  page.sections.push_back(strategies_section(answer));
  page.sections.push_back(batch_section(answer));
  if (!priced) return page;
  page.sections.push_back(attention_section(answer));
  add_step(page, answer);
  return page;
}

}  // namespace shardline::tools
