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

Plot batch_plot(const BatchCurve& curve, const GenerateRecord& record) {
  Plot plot{.title = "A step of decode by sequences",
            .x = {.label = "sequences",
                  .scaling = Scaling::binary,
                  .tick = [](double value) { return with_prefix(value, ""); }},
            .y = {.label = "time of a step", .tick = [](double value) { return with_prefix(value, "s"); }},
            .curves = {}};
  const auto points = [](const std::vector<std::pair<Index, Seconds>>& from) {
    std::vector<PlotPoint> made;
    for (const auto& [sequences, time] : from) made.emplace_back(static_cast<double>(sequences), time.value);
    return made;
  };
  plot.curves.push_back({.name = "predicted", .points = points(curve.predicted), .color = 0});
  plot.curves.push_back({.name = "bound", .points = points(curve.bound), .color = 1});
  if (!record.decode.times.empty()) {
    const PlotPoint measured{static_cast<double>(record.sequences), median(record.decode.times).value};
    plot.curves.push_back({.name = "measured", .points = {measured}, .color = 2, .marker = 1});
  }
  return plot;
}

/// Where reading and computing take equally long: the knee of the bound.
std::string knee_text(const BatchCurve& curve, const GenerateRecord& record) {
  const double one = curve.bound.front().second.value;
  for (const auto& [sequences, time] : curve.bound) {
    if (time.value > 1.5 * one) {
      return fmt::format(
          "The bound rises from about {} sequences on: below, a step reads the parameters and costs the "
          "same for one more sequence.",
          sequences);
    }
  }
  return fmt::format(
      "Up to {} sequences the bound hardly rises: a step reads the parameters, and one more sequence costs "
      "little. This run has {}.",
      curve.bound.back().first, record.sequences);
}

}  // namespace

BatchCurve batch_curve(const GenerationPlan& plan, const TransformerConfig& config,
                       const roofline::Hardware& hardware) {
  constexpr Index kMost = 512;
  BatchCurve curve;
  GenerationForm form = plan.form();
  for (Index sequences = 1; sequences <= std::max(kMost, 8 * plan.form().sequences); sequences *= 2) {
    form.sequences = sequences;
    const GenerationPhase phase =
        decode_phase(config, form, plan.decode().compiled->program().mesh, plan.form().decode);
    phase.compiled->predict_by(hardware);
    curve.predicted.emplace_back(sequences, phase.compiled->time().total);
    curve.bound.emplace_back(sequences, bound_of(phase, form.seen, hardware).bound());
  }
  return curve;
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
  const BatchCurve curve = batch_curve(plan, config, job.predictions());
  page.sections.push_back({"More sequences",
                           {Figure{to_svg(batch_plot(curve, record)),
                                   "The time of a step by the number of sequences: predicted, the bound of reading and "
                                   "computing, and measured in this run."},
                            Paragraph{knee_text(curve, record)}}});
  add_phase(job, page, record.prefill, "run of prefill");
  if (record.reshard) add_phase(job, page, record.reshard->phase, "reshard of the caches");
  add_phase(job, page, record.decode, "step of decode");
  if (!record.decode.times.empty())
    page.sections.push_back(timeline_section(timeline, "step of decode", job.mesh().ranks()));
  page.sections.push_back(program_section(record.decode.program));
  return page;
}

}  // namespace shardline::tools
