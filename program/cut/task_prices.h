#pragma once

#include <vector>

#include "program/cut/cut.h"
#include "program/timetable/task_costs.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What the tasks of a cut take on the busiest rank, if each step of the program of a micro-batch takes its time in
/// `times`, by number of the step: as its schedule has it (ScheduledTime::taken), or its price. A move has the price of
/// the largest array that one task sends over the axis of the stages; without an axis nothing moves. Throws Error if an
/// axis has no link in `hardware`.
TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware,
                      const std::vector<Seconds>& times);

/// What the update takes on a stage.
struct UpdatePrice {
  Seconds work;   ///< its steps, reductions of whole sums included
  Seconds moves;  ///< to and from other stages

  Seconds total() const { return work + moves; }
};

/// By stage: the update, one step or move after the other. Throws Error as task_prices().
std::vector<UpdatePrice> update_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware,
                                       const std::vector<Seconds>& times);

/// Every layer as a chunk of its own, on a stage of its own: what tasks take and hold by layer.
StageLayers layers_apart(const RankProgram& micro);

}  // namespace shardline
