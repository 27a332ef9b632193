#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/timetable/task_costs.h"
#include "program/timetable/timetable.h"

namespace shardline {

/// How the chunks of a stage lie among the layers.
enum class Placement : std::uint8_t {
  loop,            ///< chunk q on stage q mod S; with one chunk for each stage: straight
  there_and_back,  ///< stages 0 to S-1, then S-1 to 0
};

/// A timetable by name. Where chunks lie straight or in a loop, two whole numbers for each stage say all: by how many
/// tasks its forward pass runs ahead of its backward pass, and by how many its gradients of weights lag. `stage` counts
/// from 0.
struct TimetableRow {
  std::string_view name;
  int chunks_per_stage = 1;
  Placement placement = Placement::loop;
  bool split = false;  ///< gradients of inputs and of weights are tasks of their own
  Index (*ahead)(Index stage, Index stages, Index micro_batches) = nullptr;
  Index (*lag)(Index stage) = nullptr;
  /// By list scheduling instead: a free stage takes the first task that is ready. `ahead` is then the most activations
  /// of chunks that a stage may hold, and `lag` is 0.
  bool listed = false;
};

/// All timetables. Of two that take equally long, the one that moves and holds less comes first, as far as one can say.
/// Sources: GPipe (Huang et al. 2019); 1F1B (PipeDream-Flush, Narayanan et al. 2021); interleaved (Megatron-LM,
/// Narayanan et al. 2021); ZB-H1 and ZB-V (Qi et al. 2023 and 2024). interleaved_zb is interleaved with the lag of
/// ZB-H1. ZB-H2 is not offered: clipping by the global norm waits for all stages, so what it holds more saves no time.
const std::vector<TimetableRow>& timetable_rows();

/// The row with this name. Throws UsageError that lists the legal names.
const TimetableRow& timetable_row(const std::string& name);

/// The names of all timetables, in their order; and as text: "1f1b, gpipe, ...".
std::vector<std::string> every_timetable();
std::string timetable_names();

/// Which timetable to make.
struct TimetableRequest {
  std::string name;
  int stages = 1;           ///< 1 or more
  Index micro_batches = 1;  ///< 1 or more; it need not be a multiple of `stages`, and may be smaller
};

/// Makes a timetable. `costs` has an entry for each chunk: stages times chunks_per_stage. List scheduling goes by them;
/// the other timetables do not depend on them. Pure: equal arguments give equal timetables. Throws UsageError for an
/// unknown name, for numbers below 1, and as check_costs().
Timetable make_timetable(const TimetableRequest& request, const TaskCosts& costs);

/// By stage: the most activations of chunks (Held::activations) that the timetable of `request` promises to hold.
std::vector<Index> held_limits(const TimetableRequest& request);

}  // namespace shardline
