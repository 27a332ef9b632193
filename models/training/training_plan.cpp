#include "models/training/training_plan.h"

#include <utility>

#include "program/partition/check.h"
#include "program/partition/partition.h"

namespace shardline {
namespace {

std::shared_ptr<Compiled> compiled(const Program& program, const TrainingRun& run, const AbstractMesh& mesh) {
  const TrainingOptions& options = run.options;
  const Declaration declaration = declare(program, mesh, run.strategy, options.policy);
  RankProgram result = options.by_price ? partition_by_price(program, mesh, declaration, options.prices)
                                        : partition(program, mesh, declaration);
  check(result);
  return compile(std::move(result), {.scheduling = options.schedule, .prices = options.prices});
}

}  // namespace

TrainingPlan plan_training(const TrainingRun& run, const AbstractMesh& mesh) {
  const TrainingOptions& options = run.options;
  TrainingPlan plan{.run = run,
                    .step_model = make_training_step(run.config, options.batch, options.adamw, options.types()),
                    .evaluation_model = make_evaluation(run.config, options.batch, options.dtype),
                    .step = nullptr,
                    .evaluation = nullptr};
  plan.step = compiled(plan.step_model.model.program, run, mesh);
  plan.evaluation = compiled(plan.evaluation_model.program, run, mesh);
  return plan;
}

}  // namespace shardline
