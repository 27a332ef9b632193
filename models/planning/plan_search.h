#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/planning/chip_mesh.h"
#include "models/planning/closed_form.h"
#include "models/planning/planned_step.h"

namespace shardline {

struct PlanCandidate {
  PlannedStep step;
  roofline::TorusLayout layout;
  Bytes capacity;  ///< of a rank's memory; 0: not known

  bool knows_memory() const { return capacity.value > 0; }
  /// True if a rank has room for the step, or if its memory is not known.
  bool fits() const { return !knows_memory() || step.memory.total() <= capacity; }
};

/// What a search may try. What is given is not searched.
struct PlanSpace {
  std::vector<ChipMesh> meshes = {};
  bool as_given = false;      ///< no axis is added; else with_context() fits each mesh to its sequences
  std::string strategy = {};  ///< as for parse_strategy(); empty: all
  std::optional<Index> micro_batches = {};
  std::optional<Remat> remat = {};
  std::string timetable = {};   ///< of stages; empty: all
  ClosedFormQuery closed = {};  ///< its capacity is that of a rank's memory
  std::function<roofline::Hardware(const ChipMesh&)> hardware_of = {};
};

/// Prices every strategy on every mesh without stages (of those that mean the same for one micro-batch the best), and
/// of those with stages the few that are fastest by staged_time(), each with several numbers of micro-batches.
/// Candidates that fit come first; among these the fastest by its schedule, then the lowest upper bound.
///
/// Nothing is computed again, and without stages the batch is whole, as long as that fits. What does not fit is priced
/// with less that stays and with more micro-batches, and the fastest that fits is taken; unless enough candidates that
/// fit are faster anyway. Of the timetables of a pipeline the fastest that fits is taken. Leaves out strategies that
/// split a micro-batch over more ranks than it has sequences, a sequence over more ranks than it has tokens, heads
/// of split sequences over more ranks than there are heads of keys and values, and, unless a strategy is given, experts
/// over more ranks than there are.
std::vector<PlanCandidate> search_plans(const StepPlanner& planner, const PlanSpace& space);

}  // namespace shardline
