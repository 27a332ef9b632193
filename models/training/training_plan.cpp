#include "models/training/training_plan.h"

#include <utility>

#include "models/architecture/accounting.h"
#include "program/cut/check_stages.h"
#include "program/cut/write_out.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"

namespace shardline {
namespace {

RankProgram checked(const Program& program, const TrainingOptions& options, const Strategy& strategy,
                    const AbstractMesh& mesh) {
  const Declaration declaration = declare(program, mesh, strategy, options.policy);
  RankProgram result = options.by_price ? partition_by_price(program, mesh, declaration, options.prices)
                                        : partition(program, mesh, declaration);
  check(result);
  return result;
}

std::shared_ptr<Compiled> compiled(RankProgram program, const TrainingOptions& options) {
  return compile(std::move(program), {.scheduling = options.schedule, .prices = options.prices});
}

}  // namespace

Index TrainingRun::parameters() const {
  return std::visit([](const auto& model) { return parameter_count(model); }, config);
}

Flops TrainingRun::flops_of_step() const {
  return std::visit([&](const auto& model) { return training_flops(model, options.batch); }, config);
}

Index layers_of(const TrainingRun& run) {
  return std::visit([](const auto& model) { return model.layers; }, run.config);
}

TrainingStep TrainingRun::step_model() const {
  const auto make = [&](const auto& model) {
    return make_training_step(model, options.batch, options.optimizer, options.types(), options.form);
  };
  return std::visit(make, config);
}

namespace {

StagePrograms programs_of(WrittenOut step, RankProgram evaluation, const TrainingOptions& options) {
  return {.samples = std::move(step.samples),
          .step = compiled(std::move(step.program), options),
          .evaluation = compiled(std::move(evaluation), options)};
}

/// The programs of all stages. Together they do what the uncut programs do.
std::vector<StagePrograms> stage_programs(const PipelinePlan& pipeline, const RankProgram& evaluation,
                                          const TrainingOptions& options) {
  const Cut cut = pipeline.cut();
  std::vector<WrittenOut> steps;
  std::vector<const RankProgram*> programs;
  for (int stage = 0; stage < cut.stages(); ++stage) {
    steps.push_back(write_out(cut, {.axis = pipeline.axis,
                                    .stage = stage,
                                    .micro_batches = options.form.micro_batches,
                                    .events = pipeline.events}));
  }
  for (const WrittenOut& step : steps) programs.push_back(&step.program);
  check_stages(write_out(*pipeline.micro, options.form.micro_batches).program, programs);
  std::vector<RankProgram> evaluations = evaluation_stages(evaluation, pipeline);
  std::vector<StagePrograms> stages;
  for (std::size_t stage = 0; stage < steps.size(); ++stage) {
    stages.push_back(programs_of(std::move(steps[stage]), std::move(evaluations[stage]), options));
  }
  return stages;
}

}  // namespace

int TrainingPlan::stage_of(const AbstractMesh& mesh, Index rank) const {
  return pipeline ? static_cast<int>(mesh.coordinates(rank)[mesh.position(pipeline->axis)]) : 0;
}

Index TrainingPlan::rank_in_stage(const AbstractMesh& mesh, Index rank) const {
  if (!pipeline) return rank;
  Coordinates coordinates = mesh.coordinates(rank);
  coordinates.erase(coordinates.begin() + static_cast<std::ptrdiff_t>(mesh.position(pipeline->axis)));
  return mesh.without(pipeline->axis).rank(coordinates);
}

RankProgram micro_step(const TrainingRun& run, const AbstractMesh& within) {
  return checked(run.step_model().model.program, run.options, within_stage(run.strategy), within);
}

TrainingPlan plan_training(const TrainingRun& run, const AbstractMesh& mesh) {
  const TrainingOptions& options = run.options;
  const auto evaluate = [&](const auto& model) { return make_evaluation(model, options.micro_batch(), options.dtype); };
  TrainingPlan plan{.run = run,
                    .step_model = run.step_model(),
                    .evaluation_model = std::visit(evaluate, run.config),
                    .pipeline = {},
                    .stages = {}};
  const Axis axis = stage_axis(run.strategy, mesh);
  const Strategy strategy = axis.empty() ? run.strategy : within_stage(run.strategy);
  const AbstractMesh within = axis.empty() ? mesh : mesh.without(axis);
  RankProgram step = checked(plan.step_model.model.program, options, strategy, within);
  RankProgram evaluation = checked(plan.evaluation_model.program, options, strategy, within);
  if (axis.empty()) {
    plan.stages.push_back(programs_of(write_out(step, options.form.micro_batches), std::move(evaluation), options));
    return plan;
  }
  plan.pipeline = plan_pipeline(std::move(step), options.pipeline, axis, static_cast<int>(mesh.size(axis)),
                                options.form.micro_batches, options.prices);
  plan.stages = stage_programs(*plan.pipeline, evaluation, options);
  return plan;
}

}  // namespace shardline
