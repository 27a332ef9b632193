#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/cut/cut.h"
#include "program/cut/task_prices.h"
#include "program/plan/compiled.h"
#include "program/timetable/moves.h"
#include "program/timetable/timetable.h"
#include "program/timetable/timing.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What is asked of the stages of a run.
struct PipelineOptions {
  std::string timetable = "1f1b";
  std::vector<int> layers = {};  ///< by chunk; empty: spread by the simulated time of a step
};

/// How the step of a run is cut into stages. Pure data, equal on all ranks.
struct PipelinePlan {
  Axis axis;  ///< of the stages
  Timetable timetable;
  std::vector<int> layers;                ///< by chunk, without embedding and output projection
  StageEvents events;                     ///< proven
  std::shared_ptr<const Compiled> micro;  ///< the program of a micro-batch on the mesh of a stage, uncut

  Cut cut() const;
  /// The time of the tasks, without the update, by the prices of `hardware`.
  Timing timing(const roofline::Hardware& hardware) const;
  /// The times of the update by stage, and that of the stage where it takes longest.
  std::vector<UpdatePrice> updates(const roofline::Hardware& hardware) const;
  Seconds longest_update(const roofline::Hardware& hardware) const;
};

/// Cuts the step of `micro_batches` micro-batches over an axis of `stages` stages. The schedule of one of them,
/// `micro`, says what its steps take; its prices decide where layers lie. Throws UsageError for an unknown timetable,
/// and for numbers of layers that do not fit.
PipelinePlan plan_pipeline(std::shared_ptr<const Compiled> micro, const PipelineOptions& options, const Axis& axis,
                           int stages, Index micro_batches);

/// The stages of an evaluation of one micro-batch, with the layers of `plan`: by stage, its program. The forward tasks
/// alone, one stage after the other.
std::vector<RankProgram> evaluation_stages(const RankProgram& micro, const PipelinePlan& plan);

}  // namespace shardline
