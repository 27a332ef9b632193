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

/// The source of the figures that predict a run: "measured at start", "of machine NAME".
std::string source_of_figures(const Job& job);

/// The page of a run without sections: its command line, its machine, and whether timings are
/// valid.
Page run_page(Job& job, const std::string& title, const std::string& summary);

/// Warns of rates above the possible ones.
void add_impossible_rates(Page& page, const Comparison& comparison, const roofline::Hardware& hardware);

/// The operations of a run or a plan, for pages.
struct OperationsView {
  std::vector<OperationRow> rows;  ///< in the order of the table
  const roofline::Hardware* hardware = nullptr;
  std::string source;  ///< source of the hardware figures
  int runs = 1;        ///< the rows count the calls of this many runs
  std::string run;     ///< the name of one run: "step"
  Bars whole = {};     ///< the whole run; no name for none
};

/// Predicted and measured times of one run: the whole, the longest operations, and the others as
/// one.
Section bars_section(const OperationsView& view);
/// The rooflines of computation and of moving, and the names of rows without a dot. Or moving only.
Section roofline_section(const OperationsView& view);
Section moving_section(const OperationsView& view);
/// What every shown rank did in the run. The job has `ranks` ranks.
Section timeline_section(const TimelineFigure& timeline, const std::string& run, Index ranks);
/// The table of operations.
Section operations_section(const OperationsView& view);
/// Lines in notation, folded if there are many.
Section program_section(const std::vector<std::string>& lines);

}  // namespace shardline::tools
