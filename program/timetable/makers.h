#pragma once

#include <vector>

#include "program/timetable/named.h"
#include "program/timetable/task_costs.h"
#include "program/timetable/timetable.h"

namespace shardline {

/// The orders of a timetable whose chunks lie straight or in a loop, from the two numbers of its row. A stage does
/// `ahead` tasks F; then for each micro-batch B (or I), the W that is `lag` old, and the next F. Micro-batches go
/// through the chunks of a stage in groups as large as the number of stages. Those that the last group lacks are struck
/// out: what is left of an order that works is an order that works. `shape` has no orders yet.
std::vector<std::vector<Task>> ordered_orders(const Timetable& shape, const TimetableRow& row);

/// The orders of list scheduling: a free stage takes the first task that is ready, I (or B) before F before W, of later
/// chunks and then of earlier micro-batches first. `limits`: by stage, the most activations of chunks that it holds, at
/// least its number of chunks or all there are. Works for any placement and any costs. A stage leaves room for one task
/// F of each of its later chunks: so the oldest micro-batch can always go on, and no deadlock arises.
std::vector<std::vector<Task>> listed_orders(const Timetable& shape, const std::vector<Index>& limits,
                                             const TaskCosts& costs);

}  // namespace shardline
