#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/cut/cut.h"
#include "program/cut/write_out.h"
#include "program/partition/check.h"
#include "program/timetable/named.h"
#include "program/timetable/prove.h"
#include "program/timetable/timing.h"
#include "tests/program/programs.h"

namespace shardline {

inline constexpr int kLayers = 3;
inline constexpr int kAllLayers = kLayers + 2;  ///< with the embedding and the output projection

/// The step of a micro-batch on mesh X=2,Y=2.
inline RankProgram micro_step(const std::string& strategy, Index micro_batches, bool tied, Remat remat = Remat::none) {
  const TrainingStep step = make_training_step(small_config(false, tied, kLayers), {8, 3}, {}, {},
                                               {.micro_batches = micro_batches, .remat = remat});
  RankProgram program = partitioned(step.model.program, "X=2,Y=2", strategy);
  check(program);
  return program;
}

/// Runs of layers as equal as can be; chunks beyond the layers stay empty.
inline StageLayers spread(const std::vector<int>& place) {
  StageLayers layers{.place = place, .chunk_of = {}};
  const auto chunks = static_cast<int>(place.size());
  for (int layer = 0; layer < kAllLayers; ++layer) layers.chunk_of.push_back(layer * chunks / kAllLayers);
  return layers;
}

inline TaskCosts unit_costs(int chunks) {
  const std::vector<Seconds> one(static_cast<std::size_t>(chunks), Seconds(1));
  const std::vector<Seconds> two(static_cast<std::size_t>(chunks), Seconds(2));
  return {.forward = one, .backward = two, .inputs = one, .weights = one};
}

/// The program of all micro-batches on one stage, and those of the stages of a pipeline on axis Z.
struct Staged {
  RankProgram uncut;
  std::vector<RankProgram> stages;
  std::vector<std::vector<std::optional<Task>>> tasks = {};  ///< by stage and step

  std::vector<const RankProgram*> pointers() const {
    std::vector<const RankProgram*> all;
    for (const RankProgram& each : stages) all.push_back(&each);
    return all;
  }
};

inline Staged staged(const RankProgram& micro, const std::string& name, int stages, Index micro_batches) {
  const int chunks = stages * timetable_row(name).chunks_per_stage;
  const TaskCosts costs = unit_costs(chunks);
  const Timetable timetable = make_timetable({.name = name, .stages = stages, .micro_batches = micro_batches}, costs);
  const Cut cut(micro, spread(timetable.place));
  const Sends sends = cut.sends(timetable.kinds);
  const StageEvents events = with_moves(timetable, timed(timetable, costs), sends);
  prove(timetable, events, sends,
        {.needs = [&](const ChunkTask& task) { return cut.needs(task, is_split(timetable)); }});
  Staged made{write_out(micro, micro_batches).program, {}};
  for (int stage = 0; stage < stages; ++stage) {
    WrittenOut written =
        write_out(cut, {.axis = "Z", .stage = stage, .micro_batches = micro_batches, .events = events});
    made.stages.push_back(std::move(written.program));
    made.tasks.push_back(std::move(written.tasks));
  }
  return made;
}

}  // namespace shardline
