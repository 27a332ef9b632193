#include "models/parity/parity.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "collectives/shared/arena.h"
#include "models/parity/packed_text.h"
#include "models/training/training_plan.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

constexpr Index kSteps = 3;
constexpr Index kEvaluationBatches = 2;
constexpr Index kTokens = 7;
constexpr double kCapacity = 1;  ///< so little that choices are dropped

/// |value - wanted| / scale; infinity for what is not a number.
double relative(double value, double wanted, double scale) {
  const double distance = std::abs(value - wanted) / scale;
  return std::isfinite(distance) ? distance : std::numeric_limits<double>::infinity();
}

double largest(const Tensor& array) {
  double most = 0;
  for (const double value : array.view<double>()) most = std::max(most, std::abs(value));
  return most;
}

/// The distance of this rank's block from the whole array of the reference.
double distance(const State& state, const std::string& name, const Tensor& reference) {
  const Mesh& mesh = state.engine().mesh();
  const std::vector<Range> ranges = box(reference.shape(), state.array(name).sharding, mesh.axes(), mesh.rank());
  const Tensor wanted = reference.slice(ranges);
  const Tensor& block = state.block(name);
  SHARDLINE_CHECK(block.shape() == wanted.shape(), "{}: a block of shape {}, {} in the reference", name,
                  to_string(block.shape()), to_string(wanted.shape()));
  const double scale = largest(reference);
  double farthest = 0;
  for (Index i = 0; i < wanted.size(); ++i) {
    farthest = std::max(farthest, relative(block.view<double>()[i], wanted.view<double>()[i], scale));
  }
  return farthest;
}

/// A layout that trains: the trainer with what it needs.
class Run {
 public:
  Run(const mpi::Communicator& comm, const ParityLayout& layout)
      : mesh_(layout.mesh, comm),
        engine_(mesh_),
        data_(data_of(layout.task)),
        masked_(layout.task == ParityTask::masked || layout.task == ParityTask::packed),
        run_{.config = parity_config(layout.task),
             .options = parity_options(DType::f64, kSteps),
             .strategy = layout.strategy} {
    run_.options.policy = layout.policy;
    run_.options.schedule = layout.schedule;
    run_.options.by_price = layout.by_price;
    run_.options.form = layout.form;
    run_.options.pipeline = layout.pipeline;
    run_.options.token_order = layout.token_order;
    run_.options.pack = layout.task == ParityTask::packed;
    if (layout.task == ParityTask::experts) run_.options.batch.capacity = kCapacity;
    run_.options.prices = roofline::hardware_named("cpu", mesh_.axes(), DType::f64);
    if (!layout.shared_memory) {
      constexpr Index kNoRoom = 64;  // bytes: too small for any array
      collectives::give_arena(engine_, kNoRoom);
    }
  }

  /// True if the fault was planted.
  bool train(const Fault* fault) {
    TrainingPlan plan = plan_training(run_, mesh_.axes());
    bool planted = false;
    for (StagePrograms& stage : plan.stages) planted = (fault != nullptr && plant(*fault, stage.step)) || planted;
    trainer_ = std::make_unique<Trainer>(engine_, std::move(plan), run_.options.prices);
    std::unique_ptr<FaultySamples> faulty;
    if (fault != nullptr && fault->in_samples != nullptr && masked_) faulty = fault->in_samples(*data_, kTokens);
    for (Index step = 0; step < kSteps; ++step) {
      const std::map<std::string, Tensor> before =
          fault != nullptr && step == 0 ? blocks() : std::map<std::string, Tensor>{};
      steps_.push_back(trainer_->step(faulty ? *faulty : *data_, step));
      if (fault != nullptr && fault->in_state != nullptr && step == 0) {
        planted = fault->in_state(trainer_->program(), trainer_->state(), before);
      }
    }
    Index windows = 0;
    validation_ = trainer_->evaluate(*data_, kEvaluationBatches, windows);
    return planted || (faulty && faulty->planted());
  }

  ParityRun whole() const {
    ParityRun run{.steps = steps_, .validation = validation_, .state = {}};
    for (const std::string& name : trainer_->state().names()) run.state[name] = trainer_->state().gather(name);
    return run;
  }

  /// Collective over the mesh: true if all numbers of all ranks have the bits of the other run.
  bool has_bits_of(const ParityRun& other) const {
    bool same = validation_ == other.validation;
    for (std::size_t i = 0; i < other.steps.size(); ++i) {
      same = same && steps_[i].loss == other.steps[i].loss && steps_[i].grad_norm == other.steps[i].grad_norm &&
             steps_[i].balance == other.steps[i].balance;
    }
    for (const auto& [name, whole] : other.state) {
      if (!trainer_->state().contains(name)) continue;
      const Mesh& mesh = trainer_->state().engine().mesh();
      const Sharding& sharding = trainer_->state().array(name).sharding;
      const Tensor wanted = whole.slice(box(whole.shape(), sharding, mesh.axes(), mesh.rank()));
      const Tensor& block = trainer_->state().block(name);
      same = same && std::equal(wanted.data(), wanted.data() + wanted.bytes(), block.data());
    }
    return mesh_.comm().min(same ? 1 : 0) > 0;
  }

  /// Collective over the mesh.
  ParityDifference difference(const ParityRun& reference) const {
    ParityDifference result;
    for (std::size_t i = 0; i < reference.steps.size(); ++i) {
      const StepResult& want = reference.steps[i];
      result.loss = std::max(result.loss, relative(steps_[i].loss, want.loss, want.loss));
      result.norm = std::max(result.norm, relative(steps_[i].grad_norm, want.grad_norm, want.grad_norm));
      result.loss = std::max(result.loss, relative(steps_[i].balance, want.balance, want.loss));
    }
    result.loss = std::max(result.loss, relative(validation_, reference.validation, reference.validation));
    const Program& program = trainer_->program().program;
    for (const auto& [name, want] : reference.state) {
      const bool here = trainer_->state().contains(name);
      SHARDLINE_CHECK(mesh_.comm().max(here ? 1 : 0) > 0, "no rank has {}", name);
      if (!here) continue;
      const bool moment = program.array(program.find(name)).role == Role::optimizer_state;
      double& most = moment ? result.gradient : result.weight;
      most = std::max(most, distance(trainer_->state(), name, want));
    }
    for (double* most : {&result.loss, &result.norm, &result.gradient, &result.weight}) *most = mesh_.comm().max(*most);
    return result;
  }

 private:
  static std::unique_ptr<SampleSource> data_of(ParityTask task) {
    if (task == ParityTask::masked) return std::make_unique<MaskedText>(parity_data());
    if (task == ParityTask::packed) return std::make_unique<PackedText>(parity_data());
    return std::make_unique<ByteData>(parity_data());
  }

  /// Puts the fault into the program of a step. False: it has no place there.
  static bool plant(const Fault& fault, std::shared_ptr<Compiled>& step) {
    RankProgram program = step->program();
    const bool planted = (fault.in_program != nullptr && fault.in_program(program)) ||
                         (fault.in_rings != nullptr && fault.in_rings(program, step->schedule()));
    if (planted) step = compile(std::move(program), step->options());
    return planted;
  }

  /// Copies of this rank's blocks.
  std::map<std::string, Tensor> blocks() const {
    std::map<std::string, Tensor> copies;
    const State& state = static_cast<const Trainer&>(*trainer_).state();
    for (const std::string& name : state.names()) copies[name] = state.block(name).clone();
    return copies;
  }

  Mesh mesh_;
  collectives::Engine engine_;
  std::unique_ptr<SampleSource> data_;
  bool masked_;  ///< some labels do not count
  TrainingRun run_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<StepResult> steps_;
  double validation_ = 0;
};

}  // namespace

TransformerConfig parity_config(ParityTask task) {
  TransformerConfig config{.vocab = 257,
                           .d_model = 19,
                           .layers = 2,
                           .heads = 25,
                           .kv_heads = 5,
                           .head_dim = 2,
                           .d_ff = 23,
                           .initializer_range = 0.3,
                           .tied = task == ParityTask::tied,
                           .qkv_biases = task == ParityTask::biases};
  if (task == ParityTask::experts) config.experts = {.count = 5, .chosen = 2, .balance = 0.1};
  if (task == ParityTask::dropless) config.experts = {.count = 3, .chosen = 2};
  return config;
}

TrainingOptions parity_options(DType dtype, Index steps) {
  TrainingOptions options;
  options.batch = {8, kTokens};
  options.learning_rate = 1e-2;
  options.steps = steps;
  options.warmup = 2;
  // The norm is so small that it matters in every step.
  options.optimizer = AdamW{{.weight_decay = 0.1, .clip_norm = 0.5}};
  options.dtype = dtype;
  options.seed = 3;
  return options;
}

ByteData parity_data() {
  return ByteData({"text"}, kTokens, 3, [](const std::string&) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i * i % 97) + ";\n";
    return text;
  });
}

bool ParityDifference::passes() const {
  return same_bits && std::max({loss, gradient, norm, weight}) <= kParityTolerance;
}

std::map<ParityTask, ParityRun> parity_references() {
  const mpi::Communicator world = mpi::Communicator::world();
  const mpi::Communicator alone = world.split(world.rank(), 0);
  const AbstractMesh mesh = AbstractMesh::parse("X=1");
  std::map<ParityTask, ParityRun> references;
  for (const ParityTask task : {ParityTask::usual, ParityTask::tied, ParityTask::biases, ParityTask::masked,
                                ParityTask::packed, ParityTask::experts, ParityTask::dropless}) {
    Run run(alone, {.mesh = mesh, .strategy = {{"X", default_role()}}, .task = task});
    run.train(nullptr);
    references[task] = run.whole();
  }
  return references;
}

namespace {

/// Collective over `comm`: gives the run of the first rank to all ranks. All need its form.
void share(const mpi::Communicator& comm, ParityRun& run) {
  const auto bytes_of = [](const auto& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  std::vector<double> numbers = {run.validation};
  for (const StepResult& step : run.steps) numbers.insert(numbers.end(), {step.loss, step.grad_norm, step.balance});
  const std::string shared = comm.broadcast(bytes_of(numbers), 0);
  numbers.resize(shared.size() / sizeof(double));
  std::memcpy(numbers.data(), shared.data(), shared.size());
  run.validation = numbers[0];
  run.steps.resize(numbers.size() / 3);
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    run.steps[i].loss = numbers[1 + 3 * i];
    run.steps[i].grad_norm = numbers[2 + 3 * i];
    run.steps[i].balance = numbers[3 + 3 * i];
  }
  for (auto& [name, array] : run.state) {
    const std::string bytes =
        comm.broadcast({reinterpret_cast<const char*>(array.data()), static_cast<std::size_t>(array.bytes())}, 0);
    array = Tensor(DType::f64, array.shape());
    std::memcpy(array.data(), bytes.data(), bytes.size());
  }
}

/// Collective over `comm`: the plain layout, trained by the first ranks, on all ranks. `form` has the names and shapes
/// of its arrays.
ParityRun run_plain(const mpi::Communicator& comm, const ParityLayout& plain, const ParityRun& form) {
  const bool trains = comm.rank() < plain.mesh.ranks();
  const mpi::Communicator part = comm.split(trains ? 0 : 1, comm.rank());
  ParityRun made = form;
  if (trains) {
    Run run(part, plain);
    run.train(nullptr);
    made = run.whole();
  }
  share(comm, made);
  return made;
}

}  // namespace

ParityDifference compare_with_reference(const mpi::Communicator& comm, const ParityLayout& layout,
                                        const ParityRun& reference, const Fault* fault) {
  Run run(comm, layout);
  const bool planted = run.train(fault);
  ParityDifference result = run.difference(reference);
  if (const std::optional<ParityLayout> plain = plain_layout(layout)) {
    result.same_bits = run.has_bits_of(run_plain(comm, *plain, reference));
  }
  result.planted = comm.max(planted ? 1 : 0) > 0;
  return result;
}

}  // namespace shardline
