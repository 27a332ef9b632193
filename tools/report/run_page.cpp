#include "tools/report/run_page.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/lists.h"
#include "tools/output/text.h"
#include "tools/report/report.h"
#include "tools/report/roofline_plot.h"
#include "tools/trace/busy.h"
#include "tools/trace/last_run.h"
#include "tools/version.h"

namespace shardline::tools {
namespace {

constexpr std::size_t kMostBars = 12;
constexpr std::size_t kMostLinesOpen = 40;  ///< longer programs are folded

std::string counted(Index count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::vector<std::pair<std::size_t, std::string>> key_of(const std::vector<OperationRow>& rows, DotPlace place) {
  std::vector<std::pair<std::size_t, std::string>> key;
  for (const OperationRow& row : by_number(rows)) {
    if (place_of(row) == place) key.emplace_back(row.number, row.name);
  }
  return key;
}

Bars bars_of(const OperationRow& row, int runs) {
  const double share = 1.0 / runs;
  Bars bars{fmt::format("{} {}", row.number, row.short_name), row.predicted * share, std::nullopt, &ink_of(row)};
  if (row.measured) bars.measured = *row.measured * share;
  return bars;
}

/// The rows from `first` on, as one.
Bars others_of(const std::vector<OperationRow>& rows, std::size_t first, int runs) {
  OperationRow all;
  for (std::size_t i = first; i < rows.size(); ++i) {
    all.predicted += rows[i].predicted;
    if (rows[i].measured) all.measured = all.measured.value_or(Seconds()) + *rows[i].measured;
  }
  Bars bars = bars_of(all, runs);
  bars.name = fmt::format("{} others", rows.size() - first);
  bars.ink = &kMuted;
  return bars;
}

std::string compute_caption(const OperationsView& view) {
  return fmt::format(
      "Computation: FLOP/s against FLOPs for each byte touched, both logarithmic, of one rank. The line is what one "
      "rank can do by the figures {}: on the slope memory binds, on the flat the rate of matrix products. Dots between "
      "slope and dashed line work from caches. {}",
      view.source,
      view.rows.empty() || view.rows[0].measured
          ? "A filled dot is measured, the ring joined to it predicted. Numbers go by time, 1 taking most."
          : "Dots are predicted. Numbers go by time, 1 taking most.");
}

constexpr const char* kMovingCaption =
    "Communication, and operations that move data without arithmetic: bytes per second against bytes of one call. Of "
    "collectives the bytes are those leaving the busiest rank; a line is what the link of an axis can do: on the slope "
    "the latency of one step binds, on the flat its bandwidth. Collectives of several steps stay below the slope. "
    "Others "
    "are faster than the line of memory where they find their data in caches.";

}  // namespace

std::string source_of_figures(const Job& job) {
  return job.given_machine() ? "of machine " + job.given_machine()->machine.name : "measured at start";
}

Page run_page(Job& job, const std::string& title, const std::string& summary) {
  const JobMachine& machine = job.machine();
  const Index ranks = job.mesh().ranks();
  Page page{title, summary, {}, {}, {}};
  if (!machine.timing_fault.empty()) {
    page.warnings.push_back(sentence("timings are not valid: " + machine.timing_fault));
  }
  if (const std::string busy = busy_text(job.other_work().busiest()); !busy.empty()) page.warnings.push_back(busy);
  for (const std::string& warning : job.machine_warnings()) page.warnings.push_back(sentence(warning));
  const std::string launcher = ranks == 1 ? "" : fmt::format("mpirun -n {} ", ranks);
  page.facts = {{"Command", launcher + command_line()},
                {"Mesh", job.mesh().axes().to_string()},
                {"Machine", fmt::format("{}, {}, {}", machine.host, counted(machine.nodes, "node"),
                                        counted(machine.cores, "core") + (machine.nodes == 1 ? "" : " each"))},
                {"Ranks", fmt::format("{}, {} per rank", counted(ranks, "rank"),
                                      counted(machine.threads_per_rank, "BLAS thread"))},
                {"Figures", fmt::format("{}, each rank: {}", source_of_figures(job), describe(job.predictions()))},
                {"Element type", std::string(name_of(job.dtype()))},
                {"Seed", std::to_string(job.seed())},
                {"BLAS", machine.blas},
                {"MPI", machine.mpi},
                {"Shardline", fmt::format("{}, commit {}", version(), commit())},
                {"Written", utc_now()}};
  return page;
}

void add_impossible_rates(Page& page, const Comparison& comparison, const roofline::Hardware& hardware) {
  for (const std::string& line : split(impossible_rates(comparison, hardware), '\n')) {
    if (!line.empty()) page.warnings.push_back(sentence(line));
  }
}

Section bars_section(const OperationsView& view) {
  const std::vector<OperationRow> rows = by_number(view.rows);
  std::vector<Bars> bars;
  if (!view.whole.name.empty()) bars.push_back(view.whole);
  Seconds all;
  for (const OperationRow& row : rows) all += row.time();
  std::size_t shown = 0;
  while (shown < rows.size() && shown < kMostBars && rows[shown].time() >= kSmallShare * all) ++shown;
  for (std::size_t i = 0; i < shown; ++i) bars.push_back(bars_of(rows[i], view.runs));
  if (shown < rows.size()) bars.push_back(others_of(rows, shown, view.runs));
  const bool measured = !rows.empty() && rows[0].measured;
  const std::string caption =
      fmt::format("Time of one {}, on the slowest rank; operations may overlap. Predicted by the figures {}{}.",
                  view.run, view.source,
                  measured ? "; a ratio is measured over predicted. Measured bars are blue for products, orange for "
                             "communication, green for other computation"
                           : "");
  return {measured ? "Predicted beside measured" : "Predicted times", {Figure{bars_svg(bars), caption}}};
}

Section roofline_section(const OperationsView& view) {
  Section section{
      "Rooflines",
      {Figure{roofline_svg(view.rows, *view.hardware), compute_caption(view), key_of(view.rows, DotPlace::compute)}}};
  const Section moving = moving_section(view);
  section.blocks.insert(section.blocks.end(), moving.blocks.begin(), moving.blocks.end());
  return section;
}

Section moving_section(const OperationsView& view) {
  Section section{"Roofline", {}};
  const auto key = key_of(view.rows, DotPlace::moving);
  if (!key.empty()) section.blocks.emplace_back(Figure{moving_svg(view.rows, *view.hardware), kMovingCaption, key});
  std::vector<std::string> names;
  for (const auto& [number, name] : key_of(view.rows, DotPlace::none)) names.push_back(name);
  if (!names.empty()) {
    section.blocks.emplace_back(Paragraph{
        fmt::format("Without a dot, because they took no time or move nothing: {}.", fmt::join(names, "; "))});
  }
  return section;
}

Section timeline_section(const TimelineFigure& timeline, const std::string& run, Index ranks) {
  const auto shown = static_cast<Index>(timeline.ranks.size());
  const std::string of = shown < ranks ? fmt::format(", ranks 0 to {} of {}", shown - 1, ranks) : "";
  return {
      "Timeline",
      {Figure{timeline_svg(timeline),
              fmt::format("The last {}{}: above what each rank computed, below its collectives from where it entered "
                          "them to where it left. Neighbours too short to be seen apart are one box.",
                          run, of)}}};
}

Section operations_section(const OperationsView& view) {
  Table table{
      {"no.", "operation", "count", "bytes", "wire", "FLOPs", "measured", "exposed", "predicted", "ratio", "limiter"},
      {},
      2};
  for (const OperationRow& row : view.rows) {
    const bool both = row.measured && row.predicted.value > 0;
    table.rows.push_back({std::to_string(row.number), row.name, std::to_string(row.count), to_string(row.bytes),
                          to_string(row.wire_bytes), to_string(row.flops), row.measured ? to_string(*row.measured) : "",
                          row.measured ? to_string(row.exposed) : "", to_string(row.predicted),
                          both ? fmt::format("{:.2f}", *row.measured / row.predicted) : "", row.limiter});
  }
  return {
      "Operations",
      {table, Paragraph{fmt::format("Sums over {}. wire: bytes leaving the busiest rank. exposed: what a rank really "
                                    "waited. ratio: measured over predicted. 1 GB is 1e9 bytes.",
                                    counted(view.runs, view.run))}}};
}

Section program_section(const std::vector<std::string>& lines) {
  const bool folded = lines.size() > kMostLinesOpen;
  return {"Program",
          {Paragraph{"What every rank runs, in the notation of How to Scale Your Model."},
           Preformatted{fmt::format("{}\n", fmt::join(lines, "\n")), folded, counted(lines.size(), "line")}}};
}

}  // namespace shardline::tools
