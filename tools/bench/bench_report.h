#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/bench_rows.h"
#include "tools/report/operation_row.h"
#include "tools/report/page.h"
#include "tools/report/plot.h"

namespace shardline::tools {

/// One collective by one algorithm over all sizes. Rows without a value (a bandwidth on one rank, a
/// `native` row) do not count for it.
struct BenchSummary {
  collectives::Kind kind = collectives::Kind::all_gather;
  collectives::Algorithm algorithm = collectives::Algorithm::ring;
  std::size_t sizes = 0;
  std::optional<double> times_native;  ///< median over the sizes of BenchRow::times_native
  std::optional<BytesPerSecond> best;  ///< highest bus bandwidth; none for one rank
};

/// In the order of first appearance.
std::vector<BenchSummary> summarise(const std::vector<BenchRow>& rows);

/// The title of the table, and the names of its columns.
std::string header_text(const BenchPlan& plan, const AbstractMesh& mesh);
/// A line of the table.
std::string row_text(const BenchPlan& plan, const BenchRow& row);
/// The text under the table: the summary, and the number of wrong rows.
std::string summary_text(const std::vector<BenchRow>& rows);

/// Measured and predicted times over all rows: the median ratio, and the rows with the largest
/// ratios. Empty if nothing was predicted.
std::string comparison_text(const std::vector<BenchRow>& rows);
/// A paragraph: what binds, what is farthest from its prediction, and the likely reason; this is
/// other work if it took much of the cores' time. Empty if nothing was predicted.
std::string diagnosis(const std::vector<BenchRow>& rows, const std::optional<OtherWork::Node>& busiest);

/// Adds the keys of a bench record.
void add_keys(Json& json, const BenchPlan& plan, const std::vector<BenchRow>& rows);
/// A header and a line per row, in the units of the record. Missing values are empty.
std::string csv_text(const BenchPlan& plan, const std::vector<BenchRow>& rows);
/// Bandwidth against size: bus bandwidth, or for one rank the algorithm bandwidth. A colour per
/// algorithm, a marker per collective.
Plot plot_of(const BenchPlan& plan, const AbstractMesh& mesh, const std::vector<BenchRow>& rows);

/// For each collective and algorithm the row of the largest size with a prediction, for figures.
std::vector<OperationRow> largest_rows(const std::vector<BenchRow>& rows);
/// The page of --report.
Page page_of(Job& job, const BenchPlan& plan, const std::vector<BenchRow>& rows);

/// 1 if any element of any row is wrong.
int exit_code(const std::vector<BenchRow>& rows);

}  // namespace shardline::tools
