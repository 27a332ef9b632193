#pragma once

#include <string>
#include <vector>

#include "models/strategy/strategies.h"
#include "program/plan/schedule.h"
#include "program/transform/rematerialise.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// A strategy and the prediction for a run of a program under it, on the busiest rank.
struct PricedStrategy {
  Strategy strategy;
  Remat remat = Remat::none;   ///< of the program
  std::string timetable = {};  ///< of its stages; empty: it makes none
  Index micro_batches = 1;     ///< of a strategy with stages
  bool by_price = false;       ///< partition_by_price() assigns operations, not the strategy's table
  ProgramPrice price;
  Bytes peak;  ///< of arrays at one time, in the schedule of the run
};

/// True if two axes have one size and equal links, or if neither moves anything.
bool alike(const Axis& a, const Axis& b, const AbstractMesh& mesh, const roofline::Hardware& hardware);

/// Every way to give each axis of `mesh` a role of the strategy table that means something for `program`, cheapest
/// first, then in order of the table. Ways that mean the same for one micro-batch appear once then. The
/// table assigns the operations. Of the eight cheapest ways, prices assign them greedily too, and the cheaper
/// assignment is kept: greedy never looks ahead, so it may cost more. Neighbouring axes of one size with equal links
/// are alike: ways that only swap their roles appear once. `options` are those of the later schedule, because earlier
/// starts and later ends hold more memory. `program` is that of one of `micro_batches`, and the whole step is priced.
/// Equal on all ranks if `hardware` is.
std::vector<PricedStrategy> price_strategies(const Program& program, const AbstractMesh& mesh, const Policy& policy,
                                             const roofline::Hardware& hardware, const ScheduleOptions& options = {},
                                             Index micro_batches = 1);

/// The first strategy that needs at most `memory` on a rank. Throws UsageError with the least memory that any
/// needs.
const PricedStrategy& cheapest_that_fits(const std::vector<PricedStrategy>& strategies, Bytes memory);

}  // namespace shardline
