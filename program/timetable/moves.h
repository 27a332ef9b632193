#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "program/timetable/timetable.h"
#include "program/timetable/timing.h"

namespace shardline {

/// To which other stages goes what a chunk's task makes. Each of them gets it once for every micro-batch.
using Sends = std::map<ChunkTask, std::vector<int>>;

/// What goes from stage to stage in a plain stack of layers: F to the chunk after, B or I to the chunk before, where
/// that lies on another stage.
Sends chain(const Timetable& timetable);

/// What a stage does next.
enum class EventKind : std::uint8_t { run, send, receive };

struct Event {
  EventKind kind = EventKind::run;
  Task task = {};  ///< what runs, or what made the things that are moved
  int peer = -1;   ///< of a move: the stage at the other end
  bool operator==(const Event&) const = default;
};

/// What a stage does: "runs F0", "sends F0 to stage 1", "receives F0 from stage 0".
std::string to_string(const Timetable& timetable, const Event& event);

/// By stage: its events in order.
using StageEvents = std::vector<std::vector<Event>>;

/// The tasks and moves of every stage. All stages take theirs from one common order: tasks at their begin, moves at the
/// end of the task that made what is moved. Both ends of a move thus see it at the same place of that order, and the
/// order grows along every dependency. So even sends that block until they are received cannot deadlock. `timing` is
/// that of the timetable. Throws UsageError as check_sends().
StageEvents with_moves(const Timetable& timetable, const Timing& timing, const Sends& sends);

/// Throws UsageError unless the tasks of `sends` exist, and each list names other stages of the timetable, none twice.
void check_sends(const Timetable& timetable, const Sends& sends);

}  // namespace shardline
