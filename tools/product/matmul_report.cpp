#include "tools/product/matmul_report.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "program/ir/print.h"
#include "runtime/base/statistics.h"
#include "tools/output/text.h"
#include "tools/output/words.h"
#include "tools/report/report.h"
#include "tools/report/run_page.h"
#include "tools/trace/busy.h"
#include "tools/trace/diagnosis.h"
#include "tools/trace/timed_lines.h"

namespace shardline::tools {
namespace {

/// Largest ratio first.
std::string operations_table(std::vector<TimedStep> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const TimedStep& a, const TimedStep& b) { return ratio(a) > ratio(b); });
  const std::string text = fmt::format("{}\n", fmt::join(timed_lines(steps), "\n"));
  return text + explained_words(text);
}

Comparison comparison_of(const MatmulRecord& record) {
  std::vector<Label> labels;
  std::vector<Measured> measured;
  for (const TimedStep& step : record.steps) {
    labels.push_back(step.label);
    measured.push_back(step.measured);
  }
  return {.kinds = summarise(labels, measured),
          .runs = static_cast<int>(record.runs.size()),
          .ranks = record.product->mesh.ranks(),
          .measured = median(record.runs),
          .predicted = record.prediction().scheduled,
          .warnings = record.warnings,
          .busiest = record.busiest};
}

/// "whole product", or "whole conversion".
std::string whole(const MatmulRecord& record) {
  return record.product->converts() ? "whole conversion" : "whole product";
}

/// The time of the whole product.
std::string whole_text(const MatmulRecord& record) {
  const auto [fastest, slowest] = std::minmax_element(record.runs.begin(), record.runs.end());
  const ProgramPrice& predicted = record.prediction().price;
  return fmt::format("{}, {} run{}: {} (median; {} to {}), predicted {} as scheduled, {} to {}", whole(record),
                     record.runs.size(), record.runs.size() == 1 ? "" : "s", to_string(median(record.runs)),
                     to_string(*fastest), to_string(*slowest), to_string(record.prediction().scheduled),
                     to_string(predicted.busiest()), to_string(predicted.sum));
}

std::string accuracy_text(const MatmulRecord& record) {
  if (record.product->converts() && record.correct()) return "correct: every element is exactly what it must be";
  return fmt::format("{}: largest error {:.2e} of the largest element of the dense product in f64 (at most {:.0e})",
                     record.correct() ? "correct" : "WRONG", record.accuracy.relative(), record.tolerance);
}

}  // namespace

std::string result_text(const MatmulRecord& record, const roofline::Hardware& hardware) {
  const Comparison comparison = comparison_of(record);
  return fmt::format("{}{}\n{}{}\n{}{}{}\n", operations_table(record.steps), impossible_rates(comparison, hardware),
                     busy_line(record.busiest), whole_text(record),
                     overlap_text(record.overlap, record.needs_the_cores), diagnosis(comparison, hardware),
                     accuracy_text(record));
}

void add_keys(Json& json, const MatmulRecord& record, const roofline::Hardware& hardware) {
  add_product_keys(json, *record.product, record.candidates, record.predicted, record.chosen);
  json["operations"] = Json::array();
  for (const TimedStep& step : record.steps) json["operations"].push_back(operation_json(step));
  json["overlap"] = overlap_json(record.overlap);
  json["comparison"] = comparison_json(comparison_of(record), hardware);
  json["max_rel_error"] = record.accuracy.relative();
  json["correct"] = record.correct();
  const auto [fastest, slowest] = std::minmax_element(record.runs.begin(), record.runs.end());
  json["measured_s"] = {{"min", fastest->value}, {"median", median(record.runs).value}, {"max", slowest->value}};
}

Page page_of(Job& job, const MatmulRecord& record) {
  const Comparison comparison = comparison_of(record);
  const Product& product = *record.product;
  std::string sizes;
  for (const auto& [dim, size] : product.program.sizes) sizes += fmt::format(", {}={}", dim, size);
  Page page =
      run_page(job, product.to_string(),
               fmt::format("A {} on mesh {}{}; candidate {} of {}.", product.converts() ? "conversion" : "product",
                           product.mesh.to_string(), sizes, record.chosen, record.candidates.size()));
  if (!record.correct()) page.warnings.push_back(sentence(accuracy_text(record)));
  add_impossible_rates(page, comparison, job.predictions());
  const OperationsView view{rows_of(record.steps),
                            &job.predictions(),
                            source_of_figures(job),
                            comparison.runs,
                            "run",
                            {whole(record) + ", median", comparison.predicted, comparison.measured, &kText}};
  page.sections = {{"Result",
                    {Paragraph{diagnosis(comparison, job.predictions())}, Paragraph{sentence(whole_text(record))},
                     Paragraph{sentence(accuracy_text(record))}}},
                   program_section(lines(record.program())),
                   bars_section(view),
                   roofline_section(view),
                   timeline_section(record.timeline, "run", job.mesh().ranks()),
                   operations_section(view),
                   {"Candidates", {Preformatted{candidates_text(record.candidates)}}}};
  return page;
}

}  // namespace shardline::tools
