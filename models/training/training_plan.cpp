#include "models/training/training_plan.h"

#include <utility>

#include "models/architecture/accounting.h"
#include "program/cut/stages.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/plan/choose_fusions.h"
#include "program/price/wire.h"

namespace shardline {
namespace {

RankProgram checked(const Program& program, const TrainingOptions& options, const Strategy& strategy,
                    const AbstractMesh& mesh, Assignments* assignments = nullptr) {
  const Declaration declaration = declare(program, mesh, strategy, options.policy);
  RankProgram result = options.by_price ? partition_by_price(program, mesh, declaration, options.prices, assignments)
                                        : partition(program, mesh, declaration, assignments);
  name_wires(result, options.prices.bf16_wire);
  check(result);
  return result;
}

/// The fusions of an uncut program of a run, without repeats.
CompileOptions compile_options(const RankProgram& plain, const TrainingOptions& options) {
  return {.scheduling = options.schedule,
          .fusions = choose_fusions(plain, options.prices, options.schedule),
          .prices = options.prices};
}

/// How the programs of a run are compiled.
struct HowCompiled {
  CompileOptions step;
  CompileOptions evaluation;
};

}  // namespace

Index TrainingRun::parameters() const {
  return std::visit([](const auto& model) { return parameter_count(model); }, config);
}

Flops TrainingRun::flops_of_step() const {
  return std::visit([&](const auto& model) { return training_flops(model, options.batch); }, config);
}

Index TrainingRun::ranks_of_sequence(const AbstractMesh& mesh) const {
  Index ranks = 1;
  for (const auto& [axis, role] : strategy) {
    if (shares_sequences(role.row())) ranks *= mesh.size(axis);
  }
  return ranks;
}

std::vector<Index> TrainingRun::positions(const AbstractMesh& mesh) const {
  return token_positions(options.shared_order(), options.batch.tokens, ranks_of_sequence(mesh));
}

Index layers_of(const TrainingRun& run) {
  return std::visit([](const auto& model) { return model.layers; }, run.config);
}

TrainingStep TrainingRun::step_model() const {
  const auto make = [&](const auto& model) {
    return make_training_step(model, options.shape(), options.optimizer, options.types(), options.form);
  };
  return std::visit(make, config);
}

namespace {

StagePrograms programs_of(WrittenOut step, RankProgram evaluation, const HowCompiled& how) {
  return {.samples = std::move(step.samples),
          .tasks = std::move(step.tasks),
          .step = compile(std::move(step.program), how.step),
          .evaluation = compile(std::move(evaluation), how.evaluation)};
}

/// The programs of all stages. Together they do what the uncut programs do.
std::vector<StagePrograms> stage_programs(const PipelinePlan& pipeline, const RankProgram& evaluation,
                                          Index micro_batches, const HowCompiled& how) {
  std::vector<WrittenOut> steps = write_out_stages(
      pipeline.cut(), {.axis = pipeline.axis, .micro_batches = micro_batches, .events = pipeline.events});
  std::vector<RankProgram> evaluations = evaluation_stages(evaluation, pipeline);
  std::vector<StagePrograms> stages;
  for (std::size_t stage = 0; stage < steps.size(); ++stage) {
    stages.push_back(programs_of(std::move(steps[stage]), std::move(evaluations[stage]), how));
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

MicroStep micro_step(const TrainingRun& run, const AbstractMesh& within) {
  const Strategy strategy = within_stage(run.strategy);
  TrainingRun plain = run;
  plain.options.form.remat = Remat::none;
  Assignments assignments;
  RankProgram program = checked(plain.step_model().model.program, run.options, strategy, within, &assignments);
  CompileOptions how = compile_options(program, run.options);
  if (run.options.form.remat != Remat::none) {
    program = checked(run.step_model().model.program, run.options, strategy, within, &assignments);
  }
  return {std::move(program), std::move(how)};
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
  const AbstractMesh within = axis.empty() ? mesh : mesh.without(axis);
  MicroStep step = micro_step(run, within);
  RankProgram evaluation = checked(plan.evaluation_model.program, options, within_stage(run.strategy), within);
  const HowCompiled how{step.how, compile_options(evaluation, options)};
  if (axis.empty()) {
    plan.stages.push_back(programs_of(write_out(step.program, options.form.micro_batches), std::move(evaluation), how));
    return plan;
  }
  plan.pipeline = plan_pipeline(compile(std::move(step.program), step.how), options.pipeline, axis,
                                static_cast<int>(mesh.size(axis)), options.form.micro_batches);
  plan.stages = stage_programs(*plan.pipeline, evaluation, options.form.micro_batches, how);
  return plan;
}

}  // namespace shardline
