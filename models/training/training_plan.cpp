#include "models/training/training_plan.h"

#include <utility>

#include "program/partition/check.h"
#include "program/partition/partition.h"

namespace shardline {
namespace {

std::shared_ptr<Compiled> compiled(const Program& program, const AbstractMesh& mesh, const Strategy& strategy,
                                   const TrainingOptions& options) {
  const Declaration declaration = declare(program, mesh, strategy, options.policy);
  RankProgram result = options.by_price ? partition_by_price(program, mesh, declaration, options.prices)
                                        : partition(program, mesh, declaration);
  check(result);
  return compile(std::move(result), {.scheduling = options.schedule, .prices = options.prices});
}

}  // namespace

TrainingPlan plan_training(const TransformerConfig& config, const TrainingOptions& options, const Strategy& strategy,
                           const AbstractMesh& mesh) {
  TrainingPlan plan{.config = config,
                    .options = options,
                    .step_model = make_training_step(config, options.batch, options.adamw, options.types()),
                    .evaluation_model = make_evaluation(config, options.batch, options.dtype),
                    .step = nullptr,
                    .evaluation = nullptr};
  plan.step = compiled(plan.step_model.model.program, mesh, strategy, options);
  plan.evaluation = compiled(plan.evaluation_model.program, mesh, strategy, options);
  return plan;
}

}  // namespace shardline
