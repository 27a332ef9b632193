#include "models/training/pipeline_prices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/planning/priced_layers.h"
#include "models/strategy/strategy_space.h"

namespace shardline {
namespace {

/// `within` with the axis of the stages at its place in the mesh.
Strategy with_stages(const Strategy& within, const Axis& axis, const AbstractMesh& mesh) {
  Strategy strategy;
  for (const Axis& each : mesh.axes()) {
    if (each == axis) strategy.emplace_back(axis, stage_role());
    for (const auto& [other, role] : within) {
      if (other == each) strategy.emplace_back(other, role);
    }
  }
  return strategy;
}

/// The program of a micro-batch, priced by layer.
PricedLayers priced_layers(const TrainingRun& run, const Axis& axis, const AbstractMesh& within) {
  const roofline::Hardware& prices = run.options.prices;
  MicroStep step = micro_step(run, within);
  step.how.predictions = prices;
  const auto compiled = compile(std::move(step.program), step.how);
  const PricedSteps steps{compiled->program(), compiled->estimates(), compiled->time().taken, prices};
  return {steps, compiled->liveness(), axis, layers_of(run)};
}

bool goes_before(const PlannedStep& a, const PlannedStep& b, Bytes memory) {
  const auto too_large = [&](const PlannedStep& step) { return memory.value > 0 && step.memory.total() > memory; };
  if (too_large(a) != too_large(b)) return too_large(b);
  return a.scheduled < b.scheduled;
}

/// The best timetable and number of micro-batches of a run with stages. None if no timetable fits its numbers of
/// layers.
std::optional<PricedStrategy> best_of(TrainingRun run, const AbstractMesh& mesh, const PipelineSearch& search) {
  const Axis axis = stage_axis(run.strategy, mesh);
  const auto stages = static_cast<int>(mesh.size(axis));
  std::optional<PlannedStep> best;
  for (const Index count : counts_of_micro_batches(run, stages, search.micro_batches)) {
    run.options.form.micro_batches = count;
    const PricedLayers layers = priced_layers(run, axis, mesh.without(axis));
    for (const std::string& name : names_of_timetables(run, stages, search.timetable)) {
      PlannedStep step = layers.step({name, stages, count});
      step.form = {.micro_batches = count, .remat = run.options.form.remat, .timetable = name};
      if (!best || goes_before(step, *best, search.memory)) best = std::move(step);
    }
  }
  if (!best) return {};
  PricedStrategy priced;
  priced.strategy = run.strategy;
  priced.remat = best->form.remat;
  priced.timetable = best->form.timetable;
  priced.micro_batches = best->form.micro_batches;
  priced.price.total = priced.price.sum = best->scheduled;
  priced.price.limiter = best->limiter;
  priced.peak = best->memory.total();
  return priced;
}

}  // namespace

std::vector<PricedStrategy> priced_pipelines(const TrainingRun& run, const AbstractMesh& mesh,
                                             const std::vector<Remat>& remats, const PipelineSearch& search) {
  std::vector<PricedStrategy> priced;
  const Program program = run.step_model().model.program;
  const auto swap = [&](const Axis& a, const Axis& b) { return alike(a, b, mesh, run.options.prices); };
  Axis before;
  for (const Axis& axis : mesh.axes_that_move()) {
    const bool tried = !before.empty() && swap(before, axis);
    before = axis;
    if (tried || mesh.size(axis) > layers_of(run)) continue;
    const AbstractMesh within = mesh.without(axis);
    AxisRoles roles = roles_for(program, within);
    if (!search.micro_batches && run.options.form.micro_batches == 1) roles = for_one_micro_batch(std::move(roles));
    for (const Strategy& each : strategies_of({.mesh = within, .roles = std::move(roles), .alike = swap})) {
      for (const Remat remat : remats) {
        TrainingRun staged = run;
        staged.strategy = with_stages(each, axis, mesh);
        staged.options.form.remat = remat;
        if (auto best = best_of(std::move(staged), mesh, search)) priced.push_back(std::move(*best));
      }
    }
  }
  return priced;
}

}  // namespace shardline
