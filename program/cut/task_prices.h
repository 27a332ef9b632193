#pragma once

#include <vector>

#include "program/cut/cut.h"
#include "program/timetable/task_costs.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What the tasks of a cut take: the prices of their steps, one after the other, on the busiest rank. A move has the
/// price of the largest array that one task sends over the axis of the stages; without an axis nothing moves. Throws
/// Error if an axis has no link in `hardware`.
TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware);

/// The same if each step of the program of a micro-batch takes its time in `times`: by number of the step.
TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware,
                      const std::vector<Seconds>& times);

/// Every layer as a chunk of its own, on a stage of its own: what tasks take and hold by layer.
StageLayers layers_apart(const RankProgram& micro);

}  // namespace shardline
