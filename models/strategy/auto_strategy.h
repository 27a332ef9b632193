#pragma once

#include <vector>

#include "models/strategy/strategies.h"
#include "program/plan/schedule.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// A strategy and what a run of a program under it is predicted to take on the busiest rank.
struct PricedStrategy {
  Strategy strategy;
  bool by_price = false;  ///< operations are assigned as partition_by_price() does, not by the strategy's table
  ProgramPrice price;
  Bytes peak;  ///< of arrays held at once, scheduled as it will run
};

/// Every way to give each axis of `mesh` a role of the strategy table, cheapest first, then in order of the table. For
/// each way the operations are assigned once by the table and once greedily by price. The cheaper assignment is kept:
/// greedy never looks ahead, so it may be the dearer one. Neighbouring axes of one size with equal links are alike; of
/// ways that only swap their roles there is one. `options` are those by which the program will be scheduled, since what
/// starts earlier or ends later holds more memory. Equal on all ranks if `hardware` is.
std::vector<PricedStrategy> price_strategies(const Program& program, const AbstractMesh& mesh, const Policy& policy,
                                             const roofline::Hardware& hardware, const ScheduleOptions& options = {});

/// The first that needs no more than `memory` on a rank. Throws UsageError that gives the least any needs.
const PricedStrategy& cheapest_that_fits(const std::vector<PricedStrategy>& strategies, Bytes memory);

}  // namespace shardline
