#include "tools/training/train_report.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "tools/output/text.h"
#include "tools/output/words.h"
#include "tools/report/plot.h"
#include "tools/report/report.h"
#include "tools/report/run_page.h"
#include "tools/trace/busy.h"
#include "tools/trace/timed_lines.h"
#include "tools/training/optimizer_options.h"
#include "tools/training/stage_section.h"

namespace shardline::tools {
namespace {

/// The time of a step, and its share of the best rate of the machine.
std::string step_text(Job& job, const TrainRecord& record) {
  const Comparison& comparison = record.comparison;
  return fmt::format("step {} median, {} predicted, ratio {:.2f}; {:.1f}% of the matmul rate {} (MFU)",
                     to_string(comparison.measured), to_string(comparison.predicted),
                     comparison.measured / comparison.predicted, 100 * record.mfu, source_of_figures(job));
}

std::string memory_text(const TrainRecord& record) {
  return fmt::format("arrays of the busiest rank at most {}, {} predicted", to_string(record.measured_memory),
                     to_string(record.predicted_memory));
}

std::string pass_heading(const Region& region, bool of_several) {
  const std::string pass = region.pass == Pass::forward    ? "forward pass"
                           : region.pass == Pass::backward ? "backward pass"
                                                           : "update";
  return of_several && region.pass != Pass::update
             ? fmt::format("{} of micro-batch {}:\n", pass, region.micro_batch + 1)
             : pass + ":\n";
}

/// The program line by line, in the order in which it is written, with a heading for each pass. Empty if the record has
/// no listing.
std::string listing_text(const TrainRecord& record) {
  if (record.listing.empty()) return "";
  std::vector<TimedStep> steps;
  for (const JoinedStep& step : record.listing) steps.push_back({step.label, step.measured});
  const std::vector<std::string> lines = timed_lines(steps);
  std::string text = fmt::format("\nprogram of {}, each line timed on the slowest; medians over the steps\n{}\n",
                                 record.pipeline.stages.empty() ? "every rank" : "all stages", lines[0]);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Region& region = record.listing[i].region;
    const Region* before = i > 0 ? &record.listing[i - 1].region : nullptr;
    const bool begins = before == nullptr || before->pass != region.pass || before->micro_batch != region.micro_batch;
    if (begins) text += pass_heading(region, record.options.form.micro_batches > 1);
    text += lines[i + 1] + "\n";
  }
  return text;
}

Json operations_json(const TrainRecord& record) {
  if (record.listing.empty()) return kinds_json(record.comparison.kinds);
  Json operations = Json::array();
  for (const JoinedStep& step : record.listing) operations.push_back(operation_json({step.label, step.measured}));
  return operations;
}

Json steps_json(const TrainRecord& record) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    const StepResult& s = record.steps[i];
    steps.push_back({{"step", record.begin + static_cast<Index>(i) + 1},
                     {"loss", s.loss},
                     {"grad_norm", s.grad_norm},
                     {"labels", s.labels},
                     {record.sample_name + "_per_s", record.tokens_per_step / (s.time + s.data).value},
                     {"step_s", s.time.value},
                     {"data_s", s.data.value},
                     {"predicted_step_s", record.comparison.predicted.value}});
    if (record.experts.experts.balance > 0) steps.back()["balance"] = s.balance;
  }
  return steps;
}

Json strategies_json(const std::vector<PricedStrategy>& priced) {
  Json strategies = Json::array();
  for (const PricedStrategy& each : priced) {
    strategies.push_back(
        {{"strategy", to_string(each.strategy)},
         {"remat", name_of(each.remat)},
         {"price_s",
          {{"math", each.price.math.value}, {"comms", each.price.comms.value}, {"total", each.price.total.value}}},
         {"peak_memory_bytes", each.peak.value}});
  }
  return strategies;
}

OperationsView view_of(Job& job, const TrainRecord& record) {
  const Comparison& comparison = record.comparison;
  return {rows_of(comparison.kinds),
          &job.predictions(),
          source_of_figures(job),
          comparison.runs,
          "step",
          {"whole step, median", comparison.predicted, comparison.measured, &kText}};
}

}  // namespace

std::string loss_text(const TrainRecord& record) {
  if (!record.val_loss) return "";
  if (!record.uniform_loss)
    return fmt::format("held-out loss {:.4f}, {:.4f} in the first step", *record.val_loss, record.steps.front().loss);
  if (!record.bigram_loss)
    return fmt::format("held-out loss {:.4f} nats; uniform tokens {:.4f}", *record.val_loss, *record.uniform_loss);
  return fmt::format("held-out loss {:.4f} nats; add-one bigram table on the same bytes {:.4f}; uniform bytes {:.4f}",
                     *record.val_loss, *record.bigram_loss, *record.uniform_loss);
}

Plot loss_plot(const TrainRecord& record) {
  constexpr std::size_t kMostPoints = 400;
  const auto begin = static_cast<double>(record.begin);
  PlotCurve losses{"loss of the step", {}, 0, 0};
  const std::size_t stride = record.steps.size() / kMostPoints + 1;
  for (std::size_t i = 0; i < record.steps.size(); i += stride) {
    losses.points.emplace_back(begin + static_cast<double>(i + 1), record.steps[i].loss);
  }
  Plot plot{"",
            {"step", Scaling::linear, plain_number},
            {record.uniform_loss ? "loss, nats" : "loss", Scaling::linear, plain_number},
            {losses},
            {}};
  if (!record.held_out.empty()) {
    PlotCurve held_out{"held-out loss", {}, 1, 1};
    for (const auto& [step, loss] : record.held_out) held_out.points.emplace_back(static_cast<double>(step), loss);
    plot.curves.push_back(held_out);
  }
  const double last = begin + static_cast<double>(record.steps.size());
  const auto level = [&](const std::string& name, double loss) {
    plot.guides.push_back({fmt::format("{} {:.4f}", name, loss), {begin, loss}, {last, loss}});
  };
  if (record.val_loss) level("held out, at the end", *record.val_loss);
  if (record.bigram_loss) level("bigram table", *record.bigram_loss);
  return plot;
}

std::string result_text(Job& job, const TrainRecord& record) {
  const Comparison& comparison = record.comparison;
  const std::string loss = loss_text(record);
  const std::string operations = table(comparison.kinds);
  return fmt::format("\n{}{}{}{}{}{}\n{}\n{}\n{}\n{}{}", operations, record.joined + stages_text(record.pipeline),
                     explained_words(operations), impossible_rates(comparison, job.predictions()),
                     busy_line(comparison.busiest), overlap_text(record.overlap, record.needs_the_cores),
                     diagnosis(comparison, job.predictions()), step_text(job, record), memory_text(record),
                     (loss.empty() ? loss : loss + "\n") + routing_text(record.experts, record.comparison),
                     listing_text(record));
}

void add_model_keys(Json& json, const TrainRecord& record) {
  json["strategy"] = to_string(record.strategy);
  json["micro_batches"] = record.options.form.micro_batches;
  json["optimizer"] = optimizer_json(record.options);
  json["remat"] = name_of(record.options.form.remat);
  json["pack"] = record.options.pack;
  json["token_order"] = name_of(record.token_order);
  json["steps"] = steps_json(record);
  json["interrupted"] = record.interrupted;
  json["val_loss"] = record.val_loss ? Json(*record.val_loss) : Json();
  json["bigram_loss"] = record.bigram_loss ? Json(*record.bigram_loss) : Json();
  json["parameters"] = record.parameters;
  if (record.experts.experts.count > 0) json["experts"] = expert_json(record.experts, record.comparison);
  json["weights_hash"] = record.weights_hash;
}

void add_keys(Json& json, Job& job, const TrainRecord& record) {
  add_model_keys(json, record);
  add_stage_keys(json, record.pipeline);
  if (!record.held_out.empty()) {
    json["evaluations"] = Json::array();
    for (const auto& [step, loss] : record.held_out)
      json["evaluations"].push_back({{"step", step}, {"val_loss", loss}});
  }
  if (!record.slower.empty()) {
    json["slower"] = Json::array();
    for (const auto& [since, text] : record.slower) json["slower"].push_back({{"since", since}, {"text", text}});
  }
  json["flops_per_step"] = record.flops_per_step.value;
  json["mfu"] = record.mfu;
  json["peak_memory_bytes"] = {{"predicted", record.predicted_memory.value},
                               {"measured", record.measured_memory.value}};
  json["operations"] = operations_json(record);
  json["comparison"] = comparison_json(record.comparison, job.predictions());
  json["overlap"] = overlap_json(record.overlap);
  json["program"] = record.program;
  if (!record.priced.empty()) json["strategies"] = strategies_json(record.priced);
}

Page page_of(Job& job, const TrainRecord& record, const TimelineFigure& timeline) {
  const std::string strategy = record.strategy.empty() ? "none" : to_string(record.strategy);
  Page page = run_page(job, fmt::format("Training, strategy {}", strategy),
                       fmt::format("{} parameters, {} step{} of {:.0f} {} on mesh {}.", record.parameters,
                                   record.steps.size(), record.steps.size() == 1 ? "" : "s", record.tokens_per_step,
                                   record.sample_name, job.mesh().axes().to_string()));
  if (record.interrupted) page.warnings.emplace_back("The run was interrupted.");
  for (const SlowerSteps& slower : record.slower) page.warnings.push_back(sentence(slower.text));
  add_impossible_rates(page, record.comparison, job.predictions());
  const OperationsView view = view_of(job, record);
  Section result{"Result", {Paragraph{diagnosis(record.comparison, job.predictions())}}};
  for (const std::string& text : {step_text(job, record), memory_text(record), loss_text(record)}) {
    if (!text.empty()) result.blocks.emplace_back(Paragraph{sentence(text)});
  }
  page.sections = {result,
                   bars_section(view),
                   roofline_section(view),
                   timeline_section(timeline, "step", job.mesh().ranks()),
                   {"Loss", {Figure{to_svg(loss_plot(record)), "Loss of each step before its update."}}},
                   operations_section(view),
                   program_section(record.program)};
  if (record.experts.experts.count > 0) {
    page.sections.push_back({"Experts",
                             {Paragraph{sentence(routing_text(record.experts, record.comparison))},
                              Figure{to_svg(load_plot(record.experts)),
                                     "How often each expert was chosen in training, over the mean of its layer."}}});
  }
  if (!record.pipeline.stages.empty()) page.sections.insert(page.sections.begin() + 1, stage_section(record.pipeline));
  return page;
}

}  // namespace shardline::tools
