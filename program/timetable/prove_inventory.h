#pragma once

#include <string>

#include "program/timetable/moves.h"
#include "program/timetable/timetable.h"

namespace shardline {

/// The part of prove() that does not look at the order: every task, and both ends of every move, stand exactly once and
/// on their stages, and nothing else stands there. Throws Error as prove().
void prove_inventory(const Timetable& timetable, const StageEvents& events, const Sends& sends);

/// What a stage does: "runs F0", "sends F0 to stage 1", "receives F0 from stage 0".
std::string to_string(const Timetable& timetable, const Event& event);

}  // namespace shardline
