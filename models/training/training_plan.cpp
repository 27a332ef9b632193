#include "models/training/training_plan.h"

#include <utility>

#include "program/cut/write_out.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"

namespace shardline {
namespace {

RankProgram checked(const Program& program, const TrainingRun& run, const AbstractMesh& mesh) {
  const TrainingOptions& options = run.options;
  const Declaration declaration = declare(program, mesh, run.strategy, options.policy);
  RankProgram result = options.by_price ? partition_by_price(program, mesh, declaration, options.prices)
                                        : partition(program, mesh, declaration);
  check(result);
  return result;
}

std::shared_ptr<Compiled> compiled(RankProgram program, const TrainingOptions& options) {
  return compile(std::move(program), {.scheduling = options.schedule, .prices = options.prices});
}

}  // namespace

TrainingPlan plan_training(const TrainingRun& run, const AbstractMesh& mesh) {
  const TrainingOptions& options = run.options;
  TrainingPlan plan{
      .run = run,
      .step_model = make_training_step(run.config, options.batch, options.adamw, options.types(), options.form),
      .evaluation_model = make_evaluation(run.config, options.micro_batch(), options.dtype),
      .tokens = {},
      .step = nullptr,
      .evaluation = nullptr};
  WrittenOut step = write_out(checked(plan.step_model.model.program, run, mesh), options.form.micro_batches);
  plan.tokens = std::move(step.tokens);
  plan.step = compiled(std::move(step.program), options);
  plan.evaluation = compiled(checked(plan.evaluation_model.program, run, mesh), options);
  return plan;
}

}  // namespace shardline
