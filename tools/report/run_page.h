#pragma once

#include <string>
#include <vector>

#include "roofline/price/hardware.h"
#include "tools/job.h"
#include "tools/report/bar_plot.h"
#include "tools/report/operation_row.h"
#include "tools/report/page.h"
#include "tools/report/timeline_plot.h"
#include "tools/trace/diagnosis.h"

namespace shardline::tools {

/// Where the figures come from by which a run is predicted: "measured at start", "of machine NAME".
std::string source_of_figures(const Job& job);

/// The page of a run without its sections: how it was called, on what, whether its timings are valid.
Page run_page(Job& job, const std::string& title, const std::string& summary);

/// Warns of rates above what is possible by the figures.
void add_impossible_rates(Page& page, const Comparison& comparison, const roofline::Hardware& hardware);

/// What pages show of the operations of a run or a plan.
struct OperationsView {
  std::vector<OperationRow> rows;  ///< in the order of the table
  const roofline::Hardware* hardware = nullptr;
  std::string source;  ///< of its figures
  int runs = 1;        ///< whose calls the rows count together
  std::string run;     ///< what one of them is: "step"
  Bars whole = {};     ///< one of them; no name for none
};

/// Predicted beside measured times of one run: the whole, the longest operations, and the others as one.
Section bars_section(const OperationsView& view);
/// The rooflines of computation and of what moves, and by name what has no place there; or of what moves alone.
Section roofline_section(const OperationsView& view);
Section moving_section(const OperationsView& view);
/// What every rank did in the run shown, of `ranks` ranks.
Section timeline_section(const TimelineFigure& timeline, const std::string& run, Index ranks);
/// The table of operations.
Section operations_section(const OperationsView& view);
/// Lines in notation, folded where they are many.
Section program_section(const std::vector<std::string>& lines);

}  // namespace shardline::tools
