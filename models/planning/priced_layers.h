#pragma once

#include <set>
#include <vector>

#include "models/planning/planned_step.h"
#include "models/planning/planned_work.h"
#include "program/cut/cut.h"
#include "program/plan/liveness.h"
#include "program/plan/task_bytes.h"
#include "program/timetable/named.h"
#include "program/timetable/task_costs.h"

namespace shardline {

/// The program of a micro-batch, priced by layer: embedding, one of the layers that are all the same, and output
/// projection. From these the step of any number of layers, stages and micro-batches follows.
class PricedLayers {
 public:
  /// `axis` is that of the stages; empty: there is one stage. The model has `layers` layers, the program as many or
  /// fewer; one in their middle stands for those that it lacks. Throws Error if an axis has no link in the hardware.
  PricedLayers(const PricedSteps& priced, const Liveness& live, const Axis& axis, Index layers);

  /// The whole step in the order of a timetable: its simulated time and the update of the slowest stage. The memory is
  /// that of the stage that needs most; work is that of the busiest stage, FLOPs those of an average one. Leaves out
  /// mesh, strategy and form. Throws UsageError as make_timetable().
  PlannedStep step(const TimetableRequest& request) const;

 private:
  /// Layers of a stage, by kind.
  struct Shape {
    bool first = false;  ///< embedding
    double between = 0;
    bool last = false;  ///< output projection
  };
  /// Something of the update, and the layers whose stages do it.
  struct UpdateWork {
    std::set<int> layers;
    PlannedWork work;
  };

  int layers_of_program() const { return static_cast<int>(by_layer_.size()); }
  int middle() const { return (layers_of_program() - 1) / 2; }
  /// By layer of the model, from `of_program` by layer of the program.
  template <class T>
  std::vector<T> of_model(const std::vector<T>& of_program) const;
  TaskCosts of_model(TaskCosts costs) const;
  Shape shape_of(const StageLayers& layers, int stage) const;
  /// How often a stage has what lies on these layers of the program.
  double times(const std::set<int>& layers, const Shape& shape) const;
  PlannedWork update_of(const Shape& shape) const;
  PlannedWork work_of_stage(const Shape& shape, Index micro_batches) const;
  RankMemory memory_of(const Shape& shape, Bytes held) const;
  ChunkBytes bytes_of_chunks(const StageLayers& layers) const;

  Index layers_;
  TaskCosts scheduled_;                ///< by layer of the model, as its schedule has them
  TaskCosts apart_;                    ///< the same without overlap
  ChunkBytes bytes_;                   ///< by layer of the model
  std::vector<PlannedWork> by_layer_;  ///< by layer of the program, forward and backward
  std::vector<UpdateWork> updates_;
  std::vector<StepArray> arrays_;
  Seconds message_;          ///< a scalar to another stage
  double update_share_ = 0;  ///< most bytes in the update, as a multiple of those of the gradients
};

}  // namespace shardline
