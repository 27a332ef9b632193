#pragma once

#include <functional>
#include <string>
#include <vector>

#include "program/timetable/moves.h"
#include "program/timetable/named.h"
#include "program/timetable/timing.h"
#include "runtime/base/check.h"

namespace shardline {

/// What a chunk takes, in seconds. B takes as long as I and W together.
struct ChunkSeconds {
  double forward = 1;
  double inputs = 1;
  double weights = 1;
  double move = 0;
  bool frees_cores = true;
};

/// Costs of `chunks` chunks; chunk q takes `share(q)` of `seconds`.
inline TaskCosts costs_by_chunk(int chunks, const ChunkSeconds& seconds, const std::function<double(int)>& share) {
  TaskCosts costs{.move = Seconds(seconds.move), .frees_cores = seconds.frees_cores};
  for (int q = 0; q < chunks; ++q) {
    costs.forward.emplace_back(seconds.forward * share(q));
    costs.inputs.emplace_back(seconds.inputs * share(q));
    costs.weights.emplace_back(seconds.weights * share(q));
    costs.backward.emplace_back((seconds.inputs + seconds.weights) * share(q));
  }
  return costs;
}

/// A named timetable and its simulation.
struct Pipeline {
  Timetable timetable;
  Timing timing;
};

/// `seconds` are those of a whole stage, shared equally by its chunks.
inline Pipeline even_pipeline(const std::string& name, int stages, Index micro_batches,
                              const ChunkSeconds& seconds = {}) {
  const int depth = timetable_row(name).chunks_per_stage;
  const TaskCosts costs = costs_by_chunk(stages * depth, seconds, [=](int) { return 1.0 / depth; });
  const Timetable timetable = make_timetable({.name = name, .stages = stages, .micro_batches = micro_batches}, costs);
  return {timetable, timed(timetable, costs)};
}

/// Every chunk q takes 1 + 0.25 (q mod 3) times F = 1, I = 1.2, W = 0.8; a move takes 0.05.
inline Pipeline uneven_pipeline(const std::string& name, int stages, Index micro_batches) {
  const TaskCosts costs = costs_by_chunk(stages * timetable_row(name).chunks_per_stage,
                                         {.forward = 1, .inputs = 1.2, .weights = 0.8, .move = 0.05},
                                         [](int q) { return 1 + 0.25 * (q % 3); });
  const Timetable timetable = make_timetable({.name = name, .stages = stages, .micro_batches = micro_batches}, costs);
  return {timetable, timed(timetable, costs)};
}

/// The message of the Error that `body` throws; "nothing was refused" if it throws none.
inline std::string fault_message(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

/// The tasks of a stage in order: "F0 F1 B0 B1".
inline std::string order_text(const Timetable& timetable, int stage) {
  std::string text;
  for (const Task& task : timetable.orders[static_cast<std::size_t>(stage)]) {
    text += (text.empty() ? "" : " ") + to_string(timetable, task);
  }
  return text;
}

}  // namespace shardline
