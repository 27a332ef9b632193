#pragma once

#include <functional>
#include <vector>

#include "program/timetable/moves.h"
#include "program/timetable/timetable.h"

namespace shardline {

struct ProofOptions {
  /// Which tasks of the same micro-batch must be done before a task. What another stage makes must also have arrived.
  /// Empty: needs() of a plain stack of layers.
  std::function<std::vector<ChunkTask>(const ChunkTask&)> needs = {};
  /// By stage: the most activations of chunks that it may hold. Empty: no limit.
  std::vector<Index> held_limits = {};
};

/// What the proof has seen.
struct Proven {
  Index waiting = 0;  ///< the most things that have arrived at a stage and that no task has read yet
  Index held = 0;     ///< the most activations of chunks that a stage holds: from F to B, or to W where split
};

/// Proves that the events of all stages do the work of the timetable. It reads the shape of the timetable, not its
/// orders, and shares no code with those who make orders. It walks the events in order with sends that block until they
/// are received, without any buffer; what works so works with every other kind of send. Throws Error, in one line, if
/// - a task or a move is missing, stands twice, stands on the wrong stage, or is none of the timetable's;
/// - a task runs, or is sent, before what it needs is there;
/// - a chunk's tasks of a backward kind do not run by the number of the micro-batch: sums would differ;
/// - a stage holds more than its limit;
/// - stages wait for each other for ever.
/// Throws UsageError as check_sends(). Pure.
Proven prove(const Timetable& timetable, const StageEvents& events, const Sends& sends,
             const ProofOptions& options = {});

}  // namespace shardline
