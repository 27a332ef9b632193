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
#include "runtime/mesh/dist_tensor.h"

namespace shardline {

double learning_rate(const TrainingOptions& options, Index step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup);
  if (at <= warmup) return options.learning_rate * at / warmup;
  const double span = std::max(1.0, static_cast<double>(options.steps) - warmup);
  const double progress = std::min(1.0, (at - warmup) / span);
  return options.learning_rate * (0.1 + 0.45 * (1 + std::cos(std::numbers::pi * progress)));
}

Trainer::Trainer(collectives::Engine& engine, TrainingPlan plan, const roofline::Hardware& hardware,
                 const Weights& weights)
    : engine_(engine), plan_(std::move(plan)) {
  plan_.step->predict_by(hardware);
  plan_.evaluation->predict_by(hardware);
  share_memory();
  step_ = std::make_unique<Executor>(plan_.step, engine);
  evaluation_ = std::make_unique<Executor>(plan_.evaluation, engine);
  initialise(weights);
}

/// Collective over the mesh.
void Trainer::share_memory() {
  const Index bytes = plan_.step->arena().total_bytes();
  if (engine_.arena() != nullptr || bytes == 0) return;
  // Parameters are those of the step; only what the evaluation makes itself needs room beside them.
  arena_obstacle_ = collectives::give_arena(engine_, bytes + plan_.evaluation->arena().bytes);
}

Tensor Trainer::initial_weights(const Array& parameter) const {
  const bool is_vector = parameter.dims.size() == 1;
  const CounterRng rng(plan_.options.seed, parameter.name);
  Tensor whole(DType::f64, parameter.shape);
  const View<double> values = whole.view<double>();
  for (Index i = 0; i < values.size(); ++i)
    values[i] = is_vector ? 1.0 : plan_.config.initializer_range * rng.normal(i);
  return whole;
}

void Trainer::initialise(const Weights& weights) {
  const Mesh& mesh = engine_.mesh();
  const Program& p = program().program;
  const std::vector<ModelParameter>& parameters = model().parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ArrayId id = parameters[i].array;
    const Array& array = p.array(id);
    const Sharding& sharding = program().version(program().inputs.at(id)).sharding;
    const Tensor whole = weights ? weights(i) : initial_weights(array);
    step_->set(id, whole.slice(box(array.shape, sharding, mesh.axes(), mesh.rank())).as(plan_.options.dtype));
  }
  for (const auto& [before, after] : p.updates) {
    if (p.array(before).role != Role::optimizer_state) continue;
    const Shape shape = local_shape(program(), program().inputs.at(before), mesh.rank());
    step_->set(before, Tensor::zeros(plan_.options.dtype, shape));
  }
  step_->set_scalar(plan_.step_model.arrays.loss_seed, 1);
}

void Trainer::set_tokens(Executor& executor, const Transformer& model,
                         const std::function<Sample(Index)>& sample_of) const {
  const RankProgram& program = executor.compiled().program();
  const Sharding& sharding = program.version(program.inputs.at(model.ids)).sharding;
  const Shape& shape = program.program.array(model.ids).shape;
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
  executor.set(model.ids, std::move(ids));
  executor.set(model.labels, std::move(labels));
}

StepResult Trainer::step(const ByteData& data, Index step) {
  const Index sequences = plan_.options.batch.sequences;
  const Axes& all = engine_.mesh().axes().axes();
  set_tokens(*step_, model(), [&](Index row) { return data.training_sample(step * sequences + row); });
  step_->set_scalar(plan_.step_model.arrays.learning_rate, learning_rate(plan_.options, step + 1));
  step_->set_scalar(plan_.step_model.arrays.step, static_cast<double>(step + 1));
  // The engine attends to interruptions while it waits, MPI does not.
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
  const Index sequences = plan_.options.batch.sequences;
  const Index there = data.validation_samples();
  const Index batches = std::max<Index>(1, std::min(most_batches, there / sequences));
  for (std::size_t i = 0; i < plan_.evaluation_model.parameters.size(); ++i) {
    evaluation_->set(plan_.evaluation_model.parameters[i].array, step_->get(model().parameters[i].array));
  }
  double sum = 0;
  for (Index b = 0; b < batches; ++b) {
    set_tokens(*evaluation_, plan_.evaluation_model,
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
  // Over the ranks the first parameter counts, and of it NaN before infinity: twice its place, one more for infinity.
  std::size_t mine = 2 * parameters.size();
  for (std::size_t i = 0; i < parameters.size() && mine == 2 * parameters.size(); ++i) {
    const std::string_view wrong = non_finite(step_->get(parameters[i].array));
    if (!wrong.empty()) mine = 2 * i + (wrong == "NaN" ? 0 : 1);
  }
  const std::vector<double> first =
      collectives::max_over(engine_, engine_.mesh().axes().axes(), {-static_cast<double>(mine)});
  const auto found = static_cast<std::size_t>(-first[0]);
  if (found == 2 * parameters.size()) return "";
  return fmt::format("{} holds {}", parameters[found / 2].checkpoint_name, found % 2 == 0 ? "NaN" : "infinity");
}

Tensor Trainer::gather_parameter(std::size_t parameter) const {
  const ArrayId id = model().parameters.at(parameter).array;
  const Array& array = program().program.array(id);
  const Sharding& sharding = program().version(program().inputs.at(id)).sharding;
  const ArraySpec spec{
      .name = array.name, .dims = array.dims, .shape = array.shape, .sharding = sharding, .dtype = plan_.options.dtype};
  return DistTensor::from_local(engine_.mesh(), spec, step_->get(id)).gather();
}

Bytes Trainer::predicted_memory() const {
  return plan_.step->liveness().peak(plan_.step->types(), engine_.mesh().rank());
}

}  // namespace shardline
