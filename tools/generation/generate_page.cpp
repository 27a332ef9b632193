#include "tools/generation/generate_page.h"

#include <algorithm>

#include "runtime/base/statistics.h"
#include "tools/output/text.h"
#include "tools/report/plot.h"
#include "tools/report/report.h"
#include "tools/report/run_page.h"

namespace shardline::tools {
namespace {

/// The rooflines and the table of operations of one phase.
void add_phase(Job& job, Page& page, const PhaseRecord& record, const std::string& run) {
  if (record.times.empty() || record.kinds.empty()) return;
  const OperationsView view{rows_of(record.kinds),
                            &job.predictions(),
                            source_of_figures(job),
                            std::max(1, record.timed_runs),
                            run,
                            {record.name, record.predicted, median(record.times), &kText}};
  for (Section section : {bars_section(view), roofline_section(view), operations_section(view)}) {
    section.heading = fmt::format("{}: {}", sentence(record.name).substr(0, record.name.size()), section.heading);
    page.sections.push_back(std::move(section));
  }
}

/// A line through one value of every point.
template <class Value>
std::vector<PlotPoint> line_of(const std::vector<BatchPoint>& curve, Value value_of) {
  std::vector<PlotPoint> made;
  for (const BatchPoint& each : curve) made.emplace_back(static_cast<double>(each.sequences), value_of(each).value);
  return made;
}

Plot batch_plot(const std::vector<BatchPoint>& curve, const BatchTimes& batches) {
  Plot plot{.title = "A step of decode by sequences",
            .x = {.label = "sequences",
                  .scaling = Scaling::binary,
                  .tick = [](double value) { return with_prefix(value, ""); }},
            .y = {.label = "time of a step", .tick = [](double value) { return with_prefix(value, "s"); }},
            .curves = {}};
  plot.curves.push_back(
      {.name = "predicted", .points = line_of(curve, [](const BatchPoint& p) { return p.predicted; }), .color = 0});
  plot.curves.push_back(
      {.name = "reading", .points = line_of(curve, [](const BatchPoint& p) { return p.bound.memory; }), .color = 1});
  plot.curves.push_back(
      {.name = "computing", .points = line_of(curve, [](const BatchPoint& p) { return p.bound.math; }), .color = 3});
  PlotCurve measured{.name = "measured", .points = {}, .color = 2, .marker = 1};
  for (const BatchTime& each : batches.measured) {
    measured.points.emplace_back(static_cast<double>(each.sequences), median(each.times).value);
  }
  if (!measured.points.empty()) plot.curves.push_back(std::move(measured));
  return plot;
}

/// Where reading and computing take equally long: the knee of the bound.
std::string knee_text(const std::vector<BatchPoint>& curve, Index sequences) {
  const std::optional<double> knee = knee_of(curve);
  const std::string ours = fmt::format("This run has {}.", sequences);
  if (!knee) {
    return fmt::format(
        "Up to {} sequences reading takes longer than computing: the lines of the bound do not cross. {}",
        curve.back().sequences, ours);
  }
  return fmt::format(
      "The knee: from about {:.0f} sequences on computing takes longer than reading parameters and caches. Below, one "
      "more sequence costs little but its cache. {}",
      *knee, ours);
}

Table batch_table(const BatchTimes& batches) {
  Table table{.columns = {"sequences", "median step", "tokens/s", "predicted", "bound", "bound by"}, .rows = {}};
  for (const BatchTime& each : batches.measured) {
    const Seconds step = median(each.times);
    table.rows.push_back({std::to_string(each.sequences), to_string(step),
                          fmt::format("{:.1f}", static_cast<double>(each.sequences) / step.value),
                          to_string(each.predicted), to_string(each.bound.bound()),
                          std::string(roofline::name_of(each.bound.limiter()))});
  }
  return table;
}

/// Which numbers of sequences were not measured, and why.
std::string left_out_text(const BatchTimes& batches) {
  std::string text;
  for (const auto& each : batches.left_out) {
    text += fmt::format("{}{} sequence{}: {}", text.empty() ? "Not measured: " : "; ", each.sequences,
                        each.sequences == 1 ? "" : "s", each.reason);
  }
  return text.empty() ? text : text + ".";
}

Section batch_section(const std::vector<BatchPoint>& curve, const GenerateRecord& record) {
  const BatchTimes& batches = *record.batches;
  Section section{
      "More sequences",
      {Figure{to_svg(batch_plot(curve, batches)),
              "The time of a step by the number of sequences: predicted, measured, and the two lines of the "
              "bound: reading parameters and caches once, and computing all products."},
       Paragraph{knee_text(curve, record.sequences)}}};
  if (!batches.measured.empty()) section.blocks.emplace_back(batch_table(batches));
  const std::string left_out = left_out_text(batches);
  if (!left_out.empty()) section.blocks.emplace_back(Paragraph{left_out});
  return section;
}

}  // namespace

std::vector<BatchPoint> batch_curve(const GenerationPlan& plan, const TransformerConfig& config, double seen,
                                    const roofline::Hardware& hardware) {
  constexpr Index kMost = 512;
  std::vector<BatchPoint> curve;
  GenerationForm form = plan.form();
  for (Index sequences = 1; sequences <= std::max(kMost, 8 * plan.form().sequences); sequences *= 2) {
    form.sequences = sequences;
    const GenerationPhase phase =
        decode_phase(config, form, plan.decode().compiled->program().mesh, plan.form().decode);
    phase.compiled->predict_by(hardware);
    curve.push_back({sequences, phase.compiled->time().total, bound_of(phase, seen, hardware)});
  }
  return curve;
}

std::optional<double> knee_of(const std::vector<BatchPoint>& curve) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double over = curve[i].bound.math.value - curve[i].bound.memory.value;
    if (over < 0) continue;
    const auto here = static_cast<double>(curve[i].sequences);
    if (i == 0) return here;
    const double under = curve[i - 1].bound.memory.value - curve[i - 1].bound.math.value;
    const auto before = static_cast<double>(curve[i - 1].sequences);
    return before + (here - before) * under / (under + over);
  }
  return std::nullopt;
}

Page page_of(Job& job, const GenerationPlan& plan, const TransformerConfig& config, const GenerateRecord& record,
             const TimelineFigure& timeline) {
  const GenerationForm& form = plan.form();
  Page page = run_page(
      job, "Generation",
      fmt::format("{} of up to {} tokens on mesh {}; decode {}, prefill {}{}.",
                  form.sequences == 1 ? "A text" : fmt::format("{} texts", form.sequences), form.context,
                  job.mesh().axes().to_string(), to_string(form.decode), to_string(form.prefill.value_or(form.decode)),
                  form.own_prefill ? " with a state of its own" : ""));
  page.sections.push_back({"Result", {Preformatted{result_text(job, record)}}});
  if (record.batches) {
    page.sections.push_back(batch_section(batch_curve(plan, config, record.seen, job.predictions()), record));
  }
  add_phase(job, page, record.prefill, "run of prefill");
  if (record.reshard) add_phase(job, page, record.reshard->phase, "reshard of the caches");
  add_phase(job, page, record.decode, "step of decode");
  if (!record.decode.times.empty())
    page.sections.push_back(timeline_section(timeline, "step of decode", job.mesh().ranks()));
  page.sections.push_back(program_section(record.decode.program));
  return page;
}

}  // namespace shardline::tools
