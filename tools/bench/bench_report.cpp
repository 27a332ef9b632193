#include "tools/bench/bench_report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

#include "runtime/base/statistics.h"
#include "tools/output/text.h"
#include "tools/report/run_page.h"
#include "tools/trace/busy.h"

namespace shardline::tools {

using collectives::Algorithm;

namespace {

constexpr const char* kNone = "n/a";
constexpr std::size_t kWorstListed = 5;  ///< rows listed by ratio
constexpr const char* kRowFormat =
    "{:<15}{:<20}{:>12}{:>12} {:<5}{:<4}{:>10}{:>10}{:>10}{:>10}{:>12}{:>12}{:>10}{:>10}{:>7} {:<8}{:>9}{:>10} "
    "{:<6}{:>7}\n";

const char* op_of(const BenchPlan& plan, const BenchRow& row) { return reduces(row.kind) ? name_of(plan.op) : "-"; }

template <class T>
std::string or_none(const std::optional<T>& quantity) {
  return quantity ? to_string(*quantity) : kNone;
}

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? fmt::format("{:.2f}", *ratio) : kNone; }

std::string limiter_text(const BenchRow& row) {
  return row.predicted ? std::string(roofline::name_of(row.predicted->limiter)) : kNone;
}

template <class T>
Json json_of(const std::optional<T>& quantity) {
  return quantity ? Json(quantity->value) : Json(nullptr);
}

Json json_of(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }
Json json_of(const std::optional<Index>& number) { return number ? Json(*number) : Json(nullptr); }

Json row_json(const BenchPlan& plan, const BenchRow& row) {
  return {{"collective", name_of(row.kind)},
          {"algorithm", name_of(row.algorithm)},
          {"carried_by", name_of(row.carried_by)},
          {"axis", to_string(plan.axes)},
          {"ranks", plan.ranks},
          {"bytes", static_cast<Index>(row.bytes.value)},
          {"count", row.count},
          {"dtype", name_of(plan.dtype)},
          {"op", reduces(row.kind) ? Json(name_of(plan.op)) : Json(nullptr)},
          {"memory", row.memory},
          {"runs", row.times.runs},
          {"samples", row.times.samples},
          {"time_s",
           {{"min", row.times.min.value},
            {"median", row.times.median.value},
            {"p99", row.times.p99.value},
            {"max", row.times.max.value}}},
          {"algbw", row.bus_bandwidth ? Json(row.algorithm_bandwidth.value) : Json(nullptr)},
          {"busbw", json_of(row.bus_bandwidth)},
          {"wire_bytes", json_of(row.wire_bytes)},
          {"predicted_s", row.predicted ? Json(row.predicted->time.value) : Json(nullptr)},
          {"ratio", json_of(row.ratio())},
          {"limiter", row.predicted ? Json(roofline::name_of(row.predicted->limiter)) : Json(nullptr)},
          {"times_native", json_of(row.times_native)},
          {"copy_s", row.copy.value},
          {"wrong", row.wrong}};
}

/// Empty for null. Quoted if it has a comma, as the names of several axes.
std::string csv_value(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  return text.find(',') == std::string::npos ? text : '"' + text + '"';
}

/// The values of an object as a line of CSV, with nested objects in place; or its keys.
std::string csv_line(const Json& object, bool keys, const std::string& prefix = "") {
  std::string line;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      line += csv_line(value, keys, key + "_");
    } else if (keys) {
      line += prefix + key + ",";
    } else {
      line += csv_value(value) + ",";
    }
  }
  return line;
}

std::string csv_row(const Json& object, bool keys) {
  std::string line = csv_line(object, keys);
  line.back() = '\n';
  return line;
}

/// "ring"; "auto: direct"
std::string algorithm_text(const BenchRow& row) {
  if (row.algorithm == row.carried_by) return std::string(name_of(row.algorithm));
  return fmt::format("{}: {}", name_of(row.algorithm), name_of(row.carried_by));
}

/// The value of the curves: the bus bandwidth, or for one rank the algorithm bandwidth.
double plotted(const BenchRow& row) { return row.bus_bandwidth.value_or(row.algorithm_bandwidth).value; }

std::string size_tick(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, kUnits.at(unit));
}

std::string rate_tick(double bytes_per_second) { return with_prefix(bytes_per_second, "B/s"); }

/// Two guides: the constant time of the fastest row of the smallest size, and the highest bandwidth
/// of all rows.
std::vector<PlotGuide> guides_of(const std::vector<BenchRow>& rows) {
  const BenchRow* first = nullptr;
  const BenchRow* best = nullptr;
  double largest = 0;
  for (const BenchRow& row : rows) {
    if (row.count == 0) continue;
    const bool earlier =
        first == nullptr || row.bytes < first->bytes || (row.bytes == first->bytes && plotted(row) > plotted(*first));
    if (earlier) first = &row;
    if (best == nullptr || plotted(row) > plotted(*best)) best = &row;
    largest = std::max(largest, row.bytes.value);
  }
  if (first == nullptr) return {};
  const double least = first->bytes.value;
  return {{fmt::format("latency: {}", to_string(first->times.median)),
           {least, plotted(*first)},
           {largest, plotted(*first) * largest / least}},
          {fmt::format("ceiling: {}", to_string(BytesPerSecond(plotted(*best)))),
           {least, plotted(*best)},
           {largest, plotted(*best)}}};
}

constexpr const char* kPlotCaption =
    "A colour for each algorithm, a marker for each collective, both axes logarithmic. Sizes are those of nccl-tests: "
    "the gathered array of all_gather and reduce_scatter, what one rank holds of the others. The sloping guide is the "
    "time of the fastest row of the smallest size, the level one the highest bandwidth of all rows.";

/// All rows as cells.
Table table_of(const std::vector<BenchRow>& rows) {
  Table table{{"collective", "algorithm", "bytes", "median", "min", "p99", "max", "algbw", "busbw", "predicted",
               "ratio", "limiter", "x native", "copy", "memory", "wrong"},
              {},
              2};
  for (const BenchRow& row : rows) {
    table.rows.push_back(
        {std::string(name_of(row.kind)), algorithm_text(row), fmt::format("{}", static_cast<Index>(row.bytes.value)),
         to_string(row.times.median), to_string(row.times.min), to_string(row.times.p99), to_string(row.times.max),
         row.bus_bandwidth ? to_string(row.algorithm_bandwidth) : kNone, or_none(row.bus_bandwidth),
         row.predicted ? to_string(row.predicted->time) : kNone, ratio_text(row.ratio()), limiter_text(row),
         ratio_text(row.times_native), to_string(row.copy), row.memory, std::to_string(row.wrong)});
  }
  return table;
}

/// Describes the row farthest from its prediction. Other work may be the reason.
std::string what_is_off(const BenchRow& worst, bool busy) {
  constexpr double kNear = 1.1;
  const double ratio = *worst.ratio();
  if (ratio < kNear) return "No row takes much longer than predicted.\n";
  const std::string row =
      fmt::format("{} by {} of {}", name_of(worst.kind), algorithm_text(worst), size_tick(worst.bytes.value));
  if (busy) {
    return fmt::format(
        "Farthest from its prediction is {}, {:.2f} times it: ranks waited for a core that other work used.\n", row,
        ratio);
  }
  if (worst.predicted->limiter == roofline::Limiter::latency) {
    return fmt::format(
        "Farthest from its prediction is {}: a call takes {:.2f} times as long. Ranks that wait for a core, or a slower"
        " link, make latency longer; larger messages would feel it less.\n",
        row, ratio);
  }
  if (worst.wire_bytes.value_or(0) == 0) {  // one rank
    return fmt::format(
        "Farthest from its prediction is {}: {} where {} were expected. Memory is slower or busier than when it was"
        " measured.\n",
        row, to_string(worst.times.median), to_string(worst.predicted->time));
  }
  const Bytes wire(static_cast<double>(*worst.wire_bytes));
  return fmt::format(
      "Farthest from its prediction is {}: {} where {} were expected. The link, or the memory that the ranks share, is"
      " slower or busier than when it was measured.\n",
      row, to_string(wire / worst.times.median), to_string(wire / worst.predicted->time));
}

/// The rows with a prediction, largest ratio first.
std::vector<const BenchRow*> worst_first(const std::vector<BenchRow>& rows) {
  std::vector<const BenchRow*> predicted;
  for (const BenchRow& row : rows) {
    if (row.predicted) predicted.push_back(&row);
  }
  std::stable_sort(predicted.begin(), predicted.end(),
                   [](const BenchRow* a, const BenchRow* b) { return *a->ratio() > *b->ratio(); });
  return predicted;
}

/// "1 row", "20 rows"
std::string counted_rows(std::size_t rows) { return fmt::format("{} row{}", rows, rows == 1 ? "" : "s"); }

}  // namespace

std::vector<BenchSummary> summarise(const std::vector<BenchRow>& rows) {
  std::vector<BenchSummary> summaries;
  std::vector<std::vector<double>> ratios;
  for (const BenchRow& row : rows) {
    const auto found = std::find_if(summaries.begin(), summaries.end(), [&](const BenchSummary& summary) {
      return summary.kind == row.kind && summary.algorithm == row.algorithm;
    });
    const auto at = static_cast<std::size_t>(found - summaries.begin());
    if (found == summaries.end()) {
      summaries.emplace_back();
      summaries.back().kind = row.kind;
      summaries.back().algorithm = row.algorithm;
      ratios.emplace_back();
    }
    ++summaries[at].sizes;
    if (row.bus_bandwidth) {
      summaries[at].best = std::max(summaries[at].best.value_or(*row.bus_bandwidth), *row.bus_bandwidth);
    }
    if (row.times_native) ratios[at].push_back(*row.times_native);
  }
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    if (!ratios[i].empty()) summaries[i].times_native = median(ratios[i]);
  }
  return summaries;
}

std::string header_text(const BenchPlan& plan, const AbstractMesh& mesh) {
  std::string text = fmt::format("# mesh {}, over {} ({} rank{}), {}{}; times of the slowest rank\n", mesh.to_string(),
                                 to_string(plan.axes), plan.ranks, plan.ranks == 1 ? "" : "s", name_of(plan.dtype),
                                 plan.cold ? ", cold caches" : "");
  return text + fmt::format(fmt::runtime(kRowFormat), "collective", "algorithm", "bytes", "count", "type", "op",
                            "median", "min", "p99", "max", "algbw", "busbw", "wire", "predicted", "ratio", "limiter",
                            "x native", "copy", "memory", "wrong");
}

std::string row_text(const BenchPlan& plan, const BenchRow& row) {
  const bool alone = !row.bus_bandwidth;
  return fmt::format(
      fmt::runtime(kRowFormat), name_of(row.kind), algorithm_text(row), static_cast<Index>(row.bytes.value), row.count,
      name_of(plan.dtype), op_of(plan, row), to_string(row.times.median), to_string(row.times.min),
      to_string(row.times.p99), to_string(row.times.max), alone ? kNone : to_string(row.algorithm_bandwidth),
      or_none(row.bus_bandwidth), row.wire_bytes ? to_string(Bytes(static_cast<double>(*row.wire_bytes))) : kNone,
      row.predicted ? to_string(row.predicted->time) : kNone, ratio_text(row.ratio()), limiter_text(row),
      ratio_text(row.times_native), to_string(row.copy), row.memory, row.wrong);
}

std::string summary_text(const std::vector<BenchRow>& rows) {
  std::string text = fmt::format("{:<15}{:<14}{:>6}{:>16}  {}\n", "collective", "algorithm", "sizes", "best bandwidth",
                                 "times faster than native (median over sizes)");
  for (const BenchSummary& summary : summarise(rows)) {
    text += fmt::format("{:<15}{:<14}{:>6}{:>16}  {}\n", name_of(summary.kind), name_of(summary.algorithm),
                        summary.sizes, or_none(summary.best), ratio_text(summary.times_native));
  }
  const auto wrong = std::count_if(rows.begin(), rows.end(), [](const BenchRow& row) { return row.wrong > 0; });
  return text + (wrong == 0 ? fmt::format("all {} rows are right\n", rows.size())
                            : fmt::format("WRONG: {} of {} rows\n", wrong, rows.size()));
}

std::string comparison_text(const std::vector<BenchRow>& rows) {
  const std::vector<const BenchRow*> predicted = worst_first(rows);
  if (predicted.empty()) return "";
  std::vector<double> ratios;
  for (const BenchRow* row : predicted) ratios.push_back(*row->ratio());
  std::string text = fmt::format("measured / predicted is {:.2f} in the median of {} with a prediction; worst first:\n",
                                 median(ratios), counted_rows(predicted.size()));
  for (std::size_t i = 0; i < std::min(predicted.size(), kWorstListed); ++i) {
    const BenchRow& row = *predicted[i];
    text += fmt::format("  {:>5.2f}  {} {} of {}: {} instead of {}, {}\n", *row.ratio(), name_of(row.kind),
                        algorithm_text(row), size_tick(row.bytes.value), to_string(row.times.median),
                        to_string(row.predicted->time), limiter_text(row));
  }
  return text;
}

std::string diagnosis(const std::vector<BenchRow>& rows, const std::optional<OtherWork::Node>& busiest) {
  const std::vector<const BenchRow*> predicted = worst_first(rows);
  if (predicted.empty()) return "";
  std::map<std::string, int> limiters;
  for (const BenchRow* row : predicted) ++limiters[limiter_text(*row)];
  const auto most = std::max_element(limiters.begin(), limiters.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string busy = busy_cause(busiest, *predicted.front()->ratio());
  return (busy.empty() ? busy : sentence(busy) + " ") +
         fmt::format("By the prediction {} binds {} of {} rows. ", most->first, most->second, predicted.size()) +
         what_is_off(*predicted.front(), !busy.empty());
}

void add_keys(Json& json, const BenchPlan& plan, const std::vector<BenchRow>& rows) {
  json["cold"] = plan.cold;
  json["wire"] = collectives::name_of(plan.wire);
  json["segment_bytes"] = plan.segment_bytes;
  json["rows"] = Json::array();
  for (const BenchRow& row : rows) json["rows"].push_back(row_json(plan, row));
  json["summary"] = Json::array();
  for (const BenchSummary& summary : summarise(rows)) {
    json["summary"].push_back({{"collective", name_of(summary.kind)},
                               {"algorithm", name_of(summary.algorithm)},
                               {"sizes", summary.sizes},
                               {"best_bandwidth", json_of(summary.best)},
                               {"times_native", json_of(summary.times_native)}});
  }
  json["correct"] = exit_code(rows) == 0;
}

std::string csv_text(const BenchPlan& plan, const std::vector<BenchRow>& rows) {
  std::string text;
  for (const BenchRow& row : rows) {
    const Json object = row_json(plan, row);
    if (text.empty()) text = csv_row(object, true);
    text += csv_row(object, false);
  }
  return text;
}

Plot plot_of(const BenchPlan& plan, const AbstractMesh& mesh, const std::vector<BenchRow>& rows) {
  Plot plot;
  plot.title = fmt::format("{} over {} of mesh {}, {} rank{}", name_of(plan.dtype), to_string(plan.axes),
                           mesh.to_string(), plan.ranks, plan.ranks == 1 ? "" : "s");
  plot.x = {"size (bytes as nccl-tests counts them)", Scaling::binary, size_tick};
  plot.y = {plan.ranks > 1 ? "bus bandwidth" : "size / time of one rank's copy (not the bandwidth of a link)",
            Scaling::decimal, rate_tick};
  for (const BenchSummary& summary : summarise(rows)) {
    PlotCurve curve{fmt::format("{} {}", name_of(summary.kind), name_of(summary.algorithm)),
                    {},
                    static_cast<std::size_t>(summary.algorithm),
                    static_cast<std::size_t>(summary.kind)};
    for (const BenchRow& row : rows) {
      if (row.kind != summary.kind || row.algorithm != summary.algorithm) continue;
      curve.points.emplace_back(row.bytes.value, plotted(row));
    }
    std::sort(curve.points.begin(), curve.points.end());
    plot.curves.push_back(std::move(curve));
  }
  plot.guides = guides_of(rows);
  return plot;
}

std::vector<OperationRow> largest_rows(const std::vector<BenchRow>& rows) {
  std::vector<OperationRow> largest;
  for (const BenchSummary& summary : summarise(rows)) {
    const BenchRow* most = nullptr;
    for (const BenchRow& row : rows) {
      const bool same = row.kind == summary.kind && row.algorithm == summary.algorithm;
      if (same && row.predicted && (most == nullptr || row.bytes > most->bytes)) most = &row;
    }
    if (most == nullptr) continue;
    OperationRow operation;
    operation.name = fmt::format("{} {}, {}", name_of(most->kind), algorithm_text(*most), size_tick(most->bytes.value));
    operation.short_name = fmt::format("{} {}", name_of(most->kind), name_of(most->algorithm));
    operation.bytes = most->bytes;
    operation.wire_bytes = Bytes(static_cast<double>(most->wire_bytes.value_or(0)));
    operation.predicted = most->predicted->time;
    operation.measured = most->times.median;
    operation.limiter = limiter_text(*most);
    largest.push_back(std::move(operation));
  }
  number_by_time(largest);
  return largest;
}

Page page_of(Job& job, const BenchPlan& plan, const std::vector<BenchRow>& rows) {
  Plot plot = plot_of(plan, job.mesh().axes(), rows);
  Page page = run_page(job, "Bandwidth of collectives", plot.title + (plan.cold ? ", cold caches." : "."));
  if (exit_code(rows) != 0) page.warnings.emplace_back("Some rows are WRONG.");
  for (const std::string& text : plan.left_out) page.warnings.push_back(sentence("left out: " + text));
  plot.title.clear();
  page.sections = {{"Result",
                    {Preformatted{summary_text(rows) + "\n" + comparison_text(rows)},
                     Paragraph{diagnosis(rows, job.other_work().busiest())}}},
                   {"Bandwidth against size", {Figure{to_svg(plot), kPlotCaption}}}};
  const OperationsView view{largest_rows(rows), &job.predictions(), source_of_figures(job), 1, "call", {}};
  if (!view.rows.empty()) {
    page.sections.push_back(bars_section(view));
    page.sections.push_back(moving_section(view));
  }
  page.sections.push_back({"Rows", {table_of(rows)}});
  return page;
}

int exit_code(const std::vector<BenchRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const BenchRow& row) { return row.wrong > 0; }) ? 1 : 0;
}

}  // namespace shardline::tools
