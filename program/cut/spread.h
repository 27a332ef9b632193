#pragma once

#include <vector>

#include "program/cut/cut.h"
#include "program/timetable/named.h"
#include "program/timetable/task_costs.h"

namespace shardline {

/// How many layers each chunk has. The embedding (layer 0) is in the first chunk, and the output projection with the
/// loss (the last layer) in the last chunk, beside what these have of the layers between. Throws UsageError unless
/// there is a number for each chunk, none negative, that add up to the layers between.
StageLayers stage_layers(const std::vector<int>& counts, const std::vector<int>& place, int layers_between);

/// By chunk, the stage that a timetable gives it. Throws UsageError as make_timetable().
std::vector<int> place_of_chunks(const TimetableRequest& request);

/// Layers spread by the time of a whole step: first so that the dearest chunk is as cheap as can be, then one layer is
/// moved to a neighbour at a time while the simulated step becomes shorter. Where that would take long, with very many
/// tasks, no layer is moved. `by_layer` has the costs of every layer as if it were a chunk. Some chunks may stay
/// without layers. Pure. Throws UsageError as make_timetable().
std::vector<int> spread_layers(const TimetableRequest& request, const TaskCosts& by_layer);

/// The costs of chunks from those of layers.
TaskCosts costs_of_chunks(const TaskCosts& by_layer, const StageLayers& layers);

}  // namespace shardline
