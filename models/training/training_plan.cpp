#include "models/training/training_plan.h"

#include <utility>

#include "models/architecture/accounting.h"
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

Index TrainingRun::parameters() const {
  return std::visit([](const auto& model) { return parameter_count(model); }, config);
}

Flops TrainingRun::flops_of_step() const {
  return std::visit([&](const auto& model) { return training_flops(model, options.batch); }, config);
}

TrainingStep TrainingRun::step_model() const {
  const auto make = [&](const auto& model) {
    return make_training_step(model, options.batch, options.optimizer, options.types(), options.form);
  };
  return std::visit(make, config);
}

TrainingPlan plan_training(const TrainingRun& run, const AbstractMesh& mesh) {
  const TrainingOptions& options = run.options;
  const auto evaluate = [&](const auto& model) { return make_evaluation(model, options.micro_batch(), options.dtype); };
  TrainingPlan plan{.run = run,
                    .step_model = run.step_model(),
                    .evaluation_model = std::visit(evaluate, run.config),
                    .samples = {},
                    .step = nullptr,
                    .evaluation = nullptr};
  WrittenOut step = write_out(checked(plan.step_model.model.program, run, mesh), options.form.micro_batches);
  plan.samples = std::move(step.samples);
  plan.step = compiled(std::move(step.program), options);
  plan.evaluation = compiled(checked(plan.evaluation_model.program, run, mesh), options);
  return plan;
}

}  // namespace shardline
