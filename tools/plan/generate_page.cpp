#include "tools/plan/generate_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/job_machine.h"
#include "tools/output/text.h"
#include "tools/version.h"

namespace shardline::tools {
namespace {

std::string latency_tick(double value) { return with_prefix(value, "s"); }
std::string throughput_tick(double value) { return with_prefix(value, ""); }

/// What a step of the server takes against the batch (book section 8.2).
Plot parts_plot(const GenerateAnswer& answer) {
  Plot plot;
  plot.x = {"sequences of the batch", Scaling::binary, plain_number};
  plot.y = {"part of a decode step", Scaling::decimal, latency_tick};
  PlotCurve parameters{"reading parameters", {}, 0, 0};
  PlotCurve caches{"reading caches", {}, 1, 1};
  PlotCurve flops{"FLOPs", {}, 2, 2};
  PlotCurve links{"links", {}, 3, 3};
  PlotCurve whole{"whole step, links hidden", {}, 6, 4};
  for (const FrontierPoint& point : answer.frontier) {
    if (point.load.chips != static_cast<double>(answer.question.chips)) continue;
    const double batch = point.load.sequences;
    parameters.points.emplace_back(batch, point.step.parameters.value);
    caches.points.emplace_back(batch, std::max(point.step.caches, point.step.attention).value);
    flops.points.emplace_back(batch, point.step.flops.value);
    if (point.links.time.value > 0) links.points.emplace_back(batch, point.links.time.value);
    whole.points.emplace_back(batch, point.lower().value);
  }
  plot.curves = {parameters, caches, flops, whole};
  if (!links.points.empty()) plot.curves.push_back(links);
  return plot;
}

Section frontier_section(const GenerateAnswer& answer) {
  const GenerateQuestion& question = answer.question;
  return {
      "Latency and throughput",
      {Figure{to_svg(generate_plot(answer)),
              fmt::format(
                  "Each point is a batch: 1, 2, 4, ... up to the largest whose caches of {} tokens fit, at most {}. A "
                  "step takes the closed form of section 7.1.5 of How to Scale Your Model, or as long as "
                  "its links need. Points at the upper left are best.",
                  question.context, answer.largest_batch)},
       Figure{to_svg(parts_plot(answer)),
              fmt::format("A step on {} of {}, split into its parts. A step takes the caches and the longer of "
                          "parameters and FLOPs.",
                          question.chips, question.hardware.name)}}};
}

}  // namespace

Plot generate_plot(const GenerateAnswer& answer) {
  Plot plot;
  plot.title =
      fmt::format("{} in {} on {}, caches of {} tokens in {}", answer.options.model, answer.question.weights.name,
                  answer.question.hardware.name, answer.question.context, answer.question.caches.name);
  plot.x = {"latency of a decode step", Scaling::decimal, latency_tick};
  plot.y = {"tokens/s of a chip", Scaling::decimal, throughput_tick};
  std::size_t number = 0;
  for (const Index chips : answer.question.slices) {
    PlotCurve curve{fmt::format("{} chip{}", chips, chips == 1 ? "" : "s"), {}, number, number};
    for (const FrontierPoint& point : answer.frontier) {
      if (point.load.chips != static_cast<double>(chips)) continue;
      curve.points.emplace_back(point.lower().value, point.tokens_per_chip());
    }
    ++number;
    if (!curve.points.empty()) plot.curves.push_back(curve);
  }
  return plot;
}

Page generate_page(const GenerateAnswer& answer) {
  const GenerateQuestion& question = answer.question;
  Page page;
  page.title = fmt::format("Plan of generation: {} on {}", answer.options.model, question.hardware.name);
  page.summary = fmt::format("Batch {} on {} of {}: {} a step, {} tokens/s of a chip.", question.batch, question.chips,
                             question.hardware.name, to_string(answer.decode.lower()),
                             plain_number(answer.decode.tokens_per_chip()));
  if (!answer.decode.fits) page.warnings.emplace_back("The batch does not fit the memory of these chips.");
  for (const std::string& remark : question.remarks) page.warnings.push_back(sentence(remark));
  page.facts = {{"Command", command_line()},
                {"Model", fmt::format("{}, {} parameters", answer.options.model, answer.parameters)},
                {"Stored", fmt::format("weights in {}, caches in {}", question.weights.name, question.caches.name)},
                {"Tokens", fmt::format("prompts of {}, {} new ones", question.prompt_tokens, question.new_tokens)},
                {"Shardline", fmt::format("{}, commit {}", version(), commit())},
                {"Written", utc_now()}};
  page.sections.push_back(frontier_section(answer));
  page.sections.push_back(derived_section(question, answer.derived));
  page.sections.push_back({"In words", {Preformatted{generate_text(answer), true, "the whole plan as text"}}});
  return page;
}

}  // namespace shardline::tools
