#include "models/training/training.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "collectives/all_reduce.h"
#include "collectives/shared/arena.h"
#include "models/training/positions.h"
#include "program/ir/program_hash.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/hash.h"
#include "runtime/host/interrupt.h"
#include "runtime/host/resident_memory.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/finite.h"

namespace shardline {
namespace {

/// The mean over the labels that count, from the sum of their losses divided by the number of all labels. `share`: the
/// labels that count, divided by the same number.
double mean_of_counted(double loss, double share) { return share > 0 ? loss / share : 0; }

}  // namespace

double learning_rate(const TrainingOptions& options, Index step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup);
  if (at <= warmup) return options.learning_rate * at / warmup;
  const double span = std::max(1.0, static_cast<double>(options.steps) - warmup);
  const double progress = std::min(1.0, (at - warmup) / span);
  return options.learning_rate *
         (options.least_share + (1 - options.least_share) / 2 * (1 + std::cos(std::numbers::pi * progress)));
}

Trainer::Trainer(collectives::Engine& engine, TrainingPlan plan, const roofline::Hardware& hardware)
    : engine_(engine), plan_(std::move(plan)), stage_(plan_.stage_of(engine.mesh().axes(), engine.mesh().rank())) {
  if (plan_.pipeline) ranks_ = std::make_unique<StageRanks>(engine, plan_.pipeline->axis);
  collectives::Engine& own = ranks_ ? ranks_->engine() : engine;
  programs().step->predict_by(hardware);
  programs().evaluation->predict_by(hardware);
  if (ranks_) {
    compare_stages();
    constexpr double kPatience = 10;  // a stage may wait for the others as long as a step
    ranks_->set_timeout(std::max(engine.timeout(), predicted_step() * kPatience));
  }
  const StatePlan shared = programs().state();
  const Index room = engine.arena() != nullptr ? engine.arena()->capacity() : shared.shared_bytes();
  if (own.arena() == nullptr && room > 0) arena_obstacle_ = collectives::give_arena(own, room);
  state_ = std::make_unique<State>(own, shared);
  step_ = std::make_unique<Executor>(programs().step, *state_, ranks_.get());
  evaluation_ = std::make_unique<Executor>(programs().evaluation, *state_, ranks_.get());
  const std::vector<Index> positions = run().positions(engine.mesh().axes());
  set_positions(*step_, positions);
  set_positions(*evaluation_, positions);
  if (!std::is_sorted(positions.begin(), positions.end())) order_ = positions;
  initialise();
}

/// Executors compare the ranks of a stage. All ranks must also have derived the same stages.
void Trainer::compare_stages() const {
  std::uint64_t hash = 0;
  for (const StagePrograms& stage : plan_.stages) {
    hash = hash_of(fmt::format("{} {} {}", hash, hash_of(stage.step->program()), hash_of(stage.evaluation->program())));
  }
  const std::string mine = std::to_string(hash);
  const mpi::Communicator& comm = engine_.mesh().comm();
  const double differs = comm.broadcast(mine, 0) == mine ? 0 : 1;
  SHARDLINE_CHECK(comm.max(differs) == 0, "the ranks derived different stages (rank {} {} rank 0)", comm.rank(),
                  differs > 0 ? "differs from" : "agrees with");
}

/// Each element depends on the seed and its place in the logical array. So a rank makes only its
/// own block.
void Trainer::fill_by_seed(const ModelParameter& parameter) {
  const Array& array = program().program.array(parameter.array);
  const CounterRng rng(plan_.run.options.seed, array.name);
  const bool varies = parameter.initial_deviation > 0;
  state_->fill(array.name, [&](Index i) {
    return parameter.initial_mean + (varies ? parameter.initial_deviation * rng.normal(i) : 0);
  });
}

void Trainer::initialise() {
  const Program& p = program().program;
  for (const auto& [before, after] : p.updates) {
    if (p.array(before).role == Role::optimizer_state) state_->fill_zeros(p.array(before).name);
  }
  if (run().start) {
    run().start(*state_, model());
  } else {
    for (const ModelParameter& parameter : model().parameters) {
      if (state_->contains(name_of(parameter))) fill_by_seed(parameter);
    }
  }
}

/// Not every stage reads every scalar.
void Trainer::set_scalar(ArrayId input, double value) {
  if (program().inputs.contains(input)) step_->set_scalar(input, value);
}

void Trainer::set_samples(Executor& executor, const SampleSource& data, const Batch& batch) const {
  const RankProgram& program = executor.compiled().program();
  for (std::size_t k = 0; k < batch.inputs.size(); ++k) {
    if (!program.inputs.contains(batch.inputs[k])) continue;  // another stage reads it
    const Array& array = program.program.array(batch.inputs[k]);
    const Sharding& sharding = program.version(program.inputs.at(batch.inputs[k])).sharding;
    const std::vector<Range> mine = box(array.shape, sharding, program.mesh, state_->engine().mesh().rank());
    const Range samples{batch.first + mine[0].begin, batch.first + mine[0].end};
    Tensor block = order_.empty() ? data.block(batch.series, k, samples, mine[1], array.dtype)
                                  : OrderedData(data, order_).block(batch.series, k, samples, mine[1], array.dtype);
    if (k == 1 && samples.end > batch.end) {
      SHARDLINE_CHECK(array.dtype == DType::i32, "only labels of i32 can be left out of a loss");
      const Index counting = std::clamp<Index>(batch.end - samples.begin, 0, samples.size()) * mine[1].size();
      std::fill(block.view<std::int32_t>().begin() + counting, block.view<std::int32_t>().end(), -1);
    }
    executor.set(batch.inputs[k], std::move(block));
  }
}

Index Trainer::counted_labels(const SampleSource& data, Series series, Range samples) const {
  return samples.size() * options().batch.tokens - data.masked_labels(series, samples);
}

Index Trainer::samples_before(Index step) const {
  return run().begin.samples + (step - run().begin.steps) * options().batch.sequences;
}

StepResult Trainer::step(const SampleSource& data, Index step) {
  const Axes& all = engine_.mesh().axes().axes();
  const Seconds reading = now();
  const Range samples{samples_before(step), samples_before(step) + options().batch.sequences};
  Index first = samples.begin;
  for (const std::map<ArrayId, ArrayId>& own : programs().samples) {
    std::vector<ArrayId> inputs;
    for (const ArrayId input : model().samples) inputs.push_back(own.contains(input) ? own.at(input) : ArrayId{-1});
    set_samples(*step_, data, {inputs, Series::training, first, samples.end});
    first += options().micro_batch().sequences;
  }
  StepResult result;
  result.labels = counted_labels(data, Series::training, samples);
  const double share = static_cast<double>(result.labels) / options().tokens();
  set_scalar(plan_.step_model.arrays.loss_seed, share > 0 ? 1 / share : 0);
  const ArrayId balance_seed = plan_.step_model.arrays.balance_seed;
  if (balance_seed >= 0) set_scalar(balance_seed, 1);
  set_scalar(plan_.step_model.arrays.learning_rate, learning_rate(plan_.run.options, step + 1));
  const ArrayId count = plan_.step_model.arrays.step;
  if (count >= 0) set_scalar(count, static_cast<double>(step + 1));
  result.own_data = now() - reading;
  // The engine handles interruptions while it waits. MPI does not.
  result.data = Seconds(collectives::max_over(engine_, all, {result.own_data.value})[0]);
  const Seconds begin = now();
  step_->run();
  const Seconds time = now() - begin;
  trained_.add(*step_, model(), rank_in_stage());
  result.own_time = time - step_->trace().waited_in_last_run();
  const double asked = Interruption::asked() ? 1 : 0;
  const double save_asked = Interruption::save_asked() ? 1 : 0;
  const std::vector<double> most =
      collectives::max_over(engine_, all, {time.value, asked, save_asked, resident_memory().value});
  result.time = Seconds(most[0]);
  result.stop = most[1] > 0;
  result.save = most[2] > 0;
  result.memory = Bytes(most[3]);
  result.loss = mean_of_counted(step_->get_scalar(model().loss), share);
  const ArrayId balance = plan_.step_model.arrays.balance;
  if (balance >= 0) result.balance = step_->get_scalar(balance);
  result.grad_norm = std::sqrt(step_->get_scalar(plan_.step_model.arrays.norm_squared));
  return result;
}

double Trainer::evaluate(const SampleSource& data, Index most_batches, Index& read) {
  const Index sequences = options().micro_batch().sequences;
  const Index there = data.held_out();
  SHARDLINE_CHECK(there > 0, "no held-out samples");
  const Index enough = there / sequences + (there % sequences > 0 ? 1 : 0);
  const Index batches = std::min(most_batches * options().form.micro_batches, enough);
  read = std::min(there, batches * sequences);
  double sum = 0;
  evaluated_.forget();
  for (Index b = 0; b < batches; ++b) {
    set_samples(*evaluation_, data, {plan_.evaluation_model.samples, Series::held_out, b * sequences, read});
    evaluation_->run();
    const bool full = (b + 1) * sequences <= read;
    if (full) evaluated_.add(*evaluation_, plan_.evaluation_model, rank_in_stage());
    sum += evaluation_->get_scalar(plan_.evaluation_model.loss);
  }
  evaluation_->forget_times();
  // The program divides by the labels of a whole batch.
  const double labels = static_cast<double>(counted_labels(data, Series::held_out, {0, read}));
  return mean_of_counted(sum, labels / (static_cast<double>(sequences) * static_cast<double>(options().batch.tokens)));
}

Index Trainer::rank_in_stage() const {
  const Mesh& mesh = engine_.mesh();
  return plan_.rank_in_stage(mesh.axes(), mesh.rank());
}

std::string Trainer::non_finite_parameter() const {
  const std::vector<ModelParameter>& parameters = model().parameters;
  // Over the ranks the first parameter counts, and NaN before infinity. The code is twice its
  // place, plus one for infinity.
  std::size_t mine = 2 * parameters.size();
  for (std::size_t i = 0; i < parameters.size() && mine == 2 * parameters.size(); ++i) {
    if (!state_->contains(name_of(parameters[i]))) continue;
    const std::string_view wrong = non_finite(state_->block(name_of(parameters[i])));
    if (!wrong.empty()) mine = 2 * i + (wrong == "NaN" ? 0 : 1);
  }
  const std::vector<double> first =
      collectives::max_over(engine_, engine_.mesh().axes().axes(), {-static_cast<double>(mine)});
  const auto found = static_cast<std::size_t>(-first[0]);
  if (found == 2 * parameters.size()) return "";
  const ModelParameter& parameter = parameters[found / 2];
  const std::string& name = parameter.checkpoint_name;
  return fmt::format("{} holds {}", parameter.by_expert ? fmt::format(fmt::runtime(name), "*") : name,
                     found % 2 == 0 ? "NaN" : "infinity");
}

Seconds Trainer::predicted_step() const {
  if (!plan_.pipeline) return programs().step->time().total;
  const roofline::Hardware& hardware = programs().step->predictions();
  return plan_.pipeline->timing(hardware).makespan + plan_.pipeline->longest_update(hardware);
}

Bytes Trainer::predicted_memory() const { return programs().step->liveness().peak(state_->engine().mesh().rank()); }

}  // namespace shardline
