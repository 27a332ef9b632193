#pragma once

#include <vector>

#include "program/plan/fusion.h"
#include "program/price/estimate.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What a collective matmul takes, cut into panels.
struct PanelTimes {
  std::vector<Seconds> products = {};  ///< of each product of the group, all its panels
  Seconds moving;
  Seconds tail;  ///< beyond the longer of the two: one panel of the shorter

  Seconds computing() const;
  /// Of the whole. If moving needs the cores, both parts follow each other.
  Seconds total(bool frees_cores) const;
};

/// A product that reading binds reads what the panels do not cut for each of them: few rows beside a large matrix, if
/// rows are cut. A panel of an all_reduce has its own latency, since it is an all_reduce of its own. `estimates` are
/// those of the steps on `hardware`; a panel has the work `panel`.
PanelTimes panel_times(const RankProgram& program, const FusionGroup& group, const std::vector<StepEstimate>& estimates,
                       const roofline::Hardware& hardware, Flops panel);

}  // namespace shardline
