#pragma once

#include <vector>

#include "program/cut/cut.h"
#include "program/timetable/task_costs.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What the tasks of a cut take: the prices of their steps, one after the other, on the busiest rank. Where links free
/// the cores, gathers of parameters and reductions of their gradients move beside the other steps: then the longer of
/// the two sums counts. A move has the price of the largest array that one task sends over the axis of the stages;
/// without an axis nothing moves. Throws Error if an axis has no link in `hardware`.
TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware);

/// The same if each step of the program of a micro-batch takes its time in `times`: by number of the step.
TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware,
                      const std::vector<Seconds>& times);

/// What the update takes on the stage where it takes longest: the prices of its steps and moves, one after the other.
/// Reductions of whole sums belong to it. Throws Error as task_prices().
Seconds update_price(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware);

/// Every layer as a chunk of its own, on a stage of its own: what tasks take and hold by layer.
StageLayers layers_apart(const RankProgram& micro);

}  // namespace shardline
