#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// In which order a schedule needs its input and completes its output: for those who make the one or use the other piece
// by piece while it runs. Strands count as going at the same pace, step by step.

/// True when the elements received will not change any more: they are part of the result.
bool settles(const Receive& receive);
bool settles(const Local& local);

/// The elements of the input that the schedule reads, each once, those that it needs first at the front: within a step
/// what is combined or sent at once, then what is added to sums that arrive.
std::vector<Range> reading_order(const Schedule& schedule);

/// The elements of the output that the schedule writes, each once, in the order in which they get their last value;
/// `placed`, which the schedule need not write, stands first.
std::vector<Range> arrival_order(const Schedule& schedule, Range placed);

}  // namespace shardline::collectives
