#include "models/training/training.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "collectives/all_reduce.h"
#include "collectives/shared/arena.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/host/interrupt.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/finite.h"

namespace shardline {

double learning_rate(const TrainingOptions& options, Index step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup);
  if (at <= warmup) return options.learning_rate * at / warmup;
  const double span = std::max(1.0, static_cast<double>(options.steps) - warmup);
  const double progress = std::min(1.0, (at - warmup) / span);
  return options.learning_rate * (0.1 + 0.45 * (1 + std::cos(std::numbers::pi * progress)));
}

Trainer::Trainer(collectives::Engine& engine, TrainingPlan plan, const roofline::Hardware& hardware)
    : engine_(engine), plan_(std::move(plan)) {
  plan_.step->predict_by(hardware);
  plan_.evaluation->predict_by(hardware);
  const StatePlan shared = plan_.state();
  if (engine.arena() == nullptr && shared.shared_bytes() > 0) {
    arena_obstacle_ = collectives::give_arena(engine, shared.shared_bytes());
  }
  state_ = std::make_unique<State>(engine, shared);
  step_ = std::make_unique<Executor>(plan_.step, *state_);
  evaluation_ = std::make_unique<Executor>(plan_.evaluation, *state_);
  initialise();
}

/// Each element depends on the seed and its place in the logical array. So a rank makes only its
/// own block.
void Trainer::fill_by_seed(const Array& parameter) {
  const bool is_vector = parameter.dims.size() == 1;
  const double deviation = plan_.run.config.initializer_range;
  const CounterRng rng(plan_.run.options.seed, parameter.name);
  state_->fill(parameter.name, [&](Index i) { return is_vector ? 1.0 : deviation * rng.normal(i); });
}

void Trainer::initialise() {
  const Program& p = program().program;
  if (run().start) {
    run().start(*state_);
  } else {
    for (const ModelParameter& parameter : model().parameters) fill_by_seed(p.array(parameter.array));
  }
  for (const auto& [before, after] : p.updates) {
    if (p.array(before).role == Role::optimizer_state) state_->fill_zeros(p.array(before).name);
  }
  step_->set_scalar(plan_.step_model.arrays.loss_seed, 1);
}

void Trainer::set_tokens(Executor& executor, const TokenInputs& inputs,
                         const std::function<Sample(Index)>& sample_of) const {
  const RankProgram& program = executor.compiled().program();
  const Sharding& sharding = program.version(program.inputs.at(inputs.ids)).sharding;
  const Shape& shape = program.program.array(inputs.ids).shape;
  const std::vector<Range> mine = box(shape, sharding, program.mesh, engine_.mesh().rank());
  const Range rows = mine[0];
  const Range columns = mine[1];
  Tensor ids(DType::i32, {rows.size(), columns.size()});
  Tensor labels(DType::i32, {rows.size(), columns.size()});
  for (Index row = rows.begin; row < rows.end; ++row) {
    const Sample sample = sample_of(row);
    const Index at = (row - rows.begin) * columns.size();
    std::copy_n(sample.ids.begin() + columns.begin, columns.size(), ids.view<std::int32_t>().begin() + at);
    std::copy_n(sample.labels.begin() + columns.begin, columns.size(), labels.view<std::int32_t>().begin() + at);
  }
  executor.set(inputs.ids, std::move(ids));
  executor.set(inputs.labels, std::move(labels));
}

StepResult Trainer::step(const ByteData& data, Index step) {
  const Axes& all = engine_.mesh().axes().axes();
  Index first = step * options().batch.sequences;
  for (const std::map<ArrayId, ArrayId>& tokens : plan_.tokens) {
    set_tokens(*step_, {tokens.at(model().ids), tokens.at(model().labels)},
               [&](Index row) { return data.training_sample(first + row); });
    first += options().micro_batch().sequences;
  }
  step_->set_scalar(plan_.step_model.arrays.learning_rate, learning_rate(plan_.run.options, step + 1));
  step_->set_scalar(plan_.step_model.arrays.step, static_cast<double>(step + 1));
  // The engine handles interruptions while it waits. MPI does not.
  collectives::max_over(engine_, all, {0});
  const Seconds begin = now();
  step_->run();
  StepResult result;
  const double asked = Interruption::asked() ? 1 : 0;
  const std::vector<double> most = collectives::max_over(engine_, all, {(now() - begin).value, asked});
  result.time = Seconds(most[0]);
  result.stop = most[1] > 0;
  result.loss = step_->get_scalar(model().loss);
  result.grad_norm = std::sqrt(step_->get_scalar(plan_.step_model.arrays.norm_squared));
  return result;
}

double Trainer::evaluate(const ByteData& data, Index most_batches, Index& windows) {
  const Index sequences = options().micro_batch().sequences;
  const Index there = data.validation_samples();
  const Index batches = std::max<Index>(1, std::min(most_batches * options().form.micro_batches, there / sequences));
  double sum = 0;
  for (Index b = 0; b < batches; ++b) {
    set_tokens(*evaluation_, {plan_.evaluation_model.ids, plan_.evaluation_model.labels},
               [&](Index row) { return data.validation_sample((b * sequences + row) % there); });
    evaluation_->run();
    sum += evaluation_->get_scalar(plan_.evaluation_model.loss);
  }
  evaluation_->forget_times();
  windows = std::min(there, batches * sequences);
  return sum / static_cast<double>(batches);
}

std::string Trainer::non_finite_parameter() const {
  const std::vector<ModelParameter>& parameters = model().parameters;
  // Over the ranks the first parameter counts, and NaN before infinity. The code is twice its
  // place, plus one for infinity.
  std::size_t mine = 2 * parameters.size();
  for (std::size_t i = 0; i < parameters.size() && mine == 2 * parameters.size(); ++i) {
    const std::string_view wrong = non_finite(state_->block(name_of(parameters[i])));
    if (!wrong.empty()) mine = 2 * i + (wrong == "NaN" ? 0 : 1);
  }
  const std::vector<double> first =
      collectives::max_over(engine_, engine_.mesh().axes().axes(), {-static_cast<double>(mine)});
  const auto found = static_cast<std::size_t>(-first[0]);
  if (found == 2 * parameters.size()) return "";
  return fmt::format("{} holds {}", parameters[found / 2].checkpoint_name, found % 2 == 0 ? "NaN" : "infinity");
}

Bytes Trainer::predicted_memory() const { return plan_.step->liveness().peak(engine_.mesh().rank()); }

}  // namespace shardline
