#pragma once

#include "program/timetable/moves.h"
#include "program/timetable/timetable.h"

namespace shardline {

/// The part of prove() that does not look at the order: every task, and both ends of every move, stand exactly once and
/// on their stages, and nothing else stands there. Throws Error as prove().
void prove_inventory(const Timetable& timetable, const StageEvents& events, const Sends& sends);

}  // namespace shardline
