#pragma once

#include "program/cut/cut.h"
#include "program/timetable/task_costs.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What the tasks of a cut take: the prices of their steps, one after the other, on the busiest rank. Where links free
/// the cores, gathers of parameters and reductions of their gradients move beside the other steps: then the longer of
/// the two sums counts. A move has the price of the largest array that one task sends over the axis of the stages.
/// Throws Error if an axis has no link in `hardware`.
TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware);

/// What the update takes on the stage where it takes longest: the prices of its steps and moves, one after the other.
/// Reductions of whole sums belong to it. Throws Error as task_prices().
Seconds update_price(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware);

}  // namespace shardline
