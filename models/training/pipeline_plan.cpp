#include "models/training/pipeline_plan.h"

#include <algorithm>
#include <utility>

#include "program/cut/spread.h"
#include "program/cut/stages.h"
#include "program/plan/timeline.h"
#include "program/price/estimate.h"
#include "program/timetable/named.h"
#include "program/timetable/prove.h"

namespace shardline {
namespace {

/// The layers between embedding and output projection.
int layers_between(const RankProgram& micro) { return layers_apart(micro).stages() - 2; }

/// The events of all stages, proven. `held_limits` as in ProofOptions.
StageEvents proven_events(const Cut& cut, const Timetable& timetable, const TaskCosts& costs,
                          const std::vector<Index>& held_limits) {
  const Sends sends = cut.sends(timetable.kinds);
  StageEvents events = with_moves(timetable, timed(timetable, costs), sends);
  prove(timetable, events, sends,
        {.needs = [&](const ChunkTask& task) { return cut.needs(task, is_split(timetable)); },
         .held_limits = held_limits});
  return events;
}

/// By step of a micro-batch: how long a rank is at it.
std::vector<Seconds> taken(const Compiled& micro, const roofline::Hardware& hardware) {
  const RankProgram& program = micro.program();
  return scheduled_time(program, micro.schedule(), estimate(program, hardware, micro.liveness().strip_steps()),
                        hardware)
      .taken;
}

}  // namespace

Cut PipelinePlan::cut() const {
  return {micro->program(), stage_layers(layers, timetable.place, layers_between(micro->program()))};
}

Timing PipelinePlan::timing(const roofline::Hardware& hardware) const {
  return timed(timetable, task_prices(cut(), axis, hardware, taken(*micro, hardware)));
}

std::vector<UpdatePrice> PipelinePlan::updates(const roofline::Hardware& hardware) const {
  return update_prices(cut(), axis, hardware, taken(*micro, hardware));
}

Seconds PipelinePlan::longest_update(const roofline::Hardware& hardware) const {
  Seconds longest;
  for (const UpdatePrice& stage : updates(hardware)) longest = std::max(longest, stage.total());
  return longest;
}

PipelinePlan plan_pipeline(std::shared_ptr<const Compiled> micro, const PipelineOptions& options, const Axis& axis,
                           int stages, Index micro_batches) {
  const TimetableRequest request{options.timetable, stages, micro_batches};
  const RankProgram& program = micro->program();
  const roofline::Hardware& prices = micro->options().prices;
  const TaskCosts by_layer = task_prices(Cut(program, layers_apart(program)), axis, prices, taken(*micro, prices));
  PipelinePlan plan{.axis = axis, .timetable = {}, .layers = options.layers, .events = {}, .micro = nullptr};
  if (plan.layers.empty()) plan.layers = spread_layers(request, by_layer);
  const StageLayers layers = stage_layers(plan.layers, place_of_chunks(request), layers_between(program));
  const TaskCosts costs = costs_of_chunks(by_layer, layers);
  plan.timetable = make_timetable(request, costs);
  plan.micro = std::move(micro);
  plan.events = proven_events(plan.cut(), plan.timetable, costs, held_limits(request));
  return plan;
}

std::vector<RankProgram> evaluation_stages(const RankProgram& micro, const PipelinePlan& plan) {
  const std::vector<Seconds> one(plan.timetable.place.size(), Seconds(1));
  const TaskCosts costs{one, one, one, one};
  Timetable timetable = forward_only(plan.timetable);
  timetable.micro_batches = 1;
  for (std::vector<Task>& order : timetable.orders) {
    std::erase_if(order, [](const Task& task) { return task.micro_batch > 0; });
  }
  const Cut cut(micro, plan.cut().layers());
  const StageEvents events = proven_events(cut, timetable, costs, {});
  std::vector<RankProgram> stages;
  for (WrittenOut& stage : write_out_stages(cut, {.axis = plan.axis, .micro_batches = 1, .events = events})) {
    stages.push_back(std::move(stage.program));
  }
  return stages;
}

}  // namespace shardline
