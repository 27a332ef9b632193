#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// The order in which a schedule needs its input, and the order in which it completes its output. Callers use it to make
// the input, or to use the output, piece by piece during the run. Strands count as equally fast, round by round.

/// True when the received elements are part of the result and do not change any more.
bool settles(const Receive& receive);
bool settles(const Local& local);

/// The elements of the input that the schedule reads, each once, the first needed first. Within a round, elements that
/// are combined or sent come before elements that are added to arriving sums.
std::vector<Range> reading_order(const Schedule& schedule);

/// The elements of the output that the schedule writes, each once, in the order in which they get their last value.
/// `placed` comes first; the schedule need not write it.
std::vector<Range> arrival_order(const Schedule& schedule, Range placed);

}  // namespace shardline::collectives
