#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/bench/bench_rows.h"
#include "tools/report/operation_row.h"
#include "tools/report/page.h"
#include "tools/report/plot.h"

namespace shardline::tools {

/// One collective by one algorithm, over all sizes. It counts rows; what a row does not have (a bandwidth on one rank,
/// a `native` beside it) is left out of what is said about it.
struct BenchSummary {
  collectives::Kind kind = collectives::Kind::all_gather;
  collectives::Algorithm algorithm = collectives::Algorithm::ring;
  std::size_t sizes = 0;
  std::optional<double> times_native;  ///< median over the sizes of BenchRow::times_native
  std::optional<BytesPerSecond> best;  ///< highest bus bandwidth; none for one rank
};

/// In order of first appearance.
std::vector<BenchSummary> summarise(const std::vector<BenchRow>& rows);

/// What the table is of, and the names of its columns.
std::string header_text(const BenchPlan& plan, const AbstractMesh& mesh);
/// A line of the table.
std::string row_text(const BenchPlan& plan, const BenchRow& row);
/// What stands under the table: the summary, and how many rows are wrong.
std::string summary_text(const std::vector<BenchRow>& rows);

/// Measured beside predicted over all rows: the median ratio and the rows with the largest first. Empty when nothing
/// was predicted.
std::string comparison_text(const std::vector<BenchRow>& rows);
/// A paragraph: what binds, what is farthest off and why that may be, which is other work where that took much of the
/// cores' time. Empty when nothing was predicted.
std::string diagnosis(const std::vector<BenchRow>& rows, const std::optional<OtherWork::Node>& busiest);

/// Adds the keys of a bench record.
void add_keys(Json& json, const BenchPlan& plan, const std::vector<BenchRow>& rows);
/// A header and a line for each row, in the units of the record; what a row does not have is empty.
std::string csv_text(const BenchPlan& plan, const std::vector<BenchRow>& rows);
/// Bandwidth against size: of the bus, or of the algorithm for one rank. A colour for each algorithm, a marker for each
/// collective.
Plot plot_of(const BenchPlan& plan, const AbstractMesh& mesh, const std::vector<BenchRow>& rows);

/// Of each collective by each algorithm the row of the largest size, where a time was predicted, as figures show it.
std::vector<OperationRow> largest_rows(const std::vector<BenchRow>& rows);
/// The page of --report.
Page page_of(Job& job, const BenchPlan& plan, const std::vector<BenchRow>& rows);

/// 1 when any element of any row is wrong.
int exit_code(const std::vector<BenchRow>& rows);

}  // namespace shardline::tools
