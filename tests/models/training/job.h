#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/training/training_memory.h"
#include "tests/models/small_training.h"

namespace shardline {

/// A training run, and the mesh that it is for.
struct RunOnMesh {
  AbstractMesh mesh;
  TrainingRun run;
  std::function<void(collectives::Engine&)> prepare = {};  ///< called before the trainer is made
};

/// How a model is laid out and computed. `tied`: of parity_config(); this model has biases too.
struct Layout {
  std::string mesh = "X=1";
  std::string strategy = "dp=X";
  StepForm form = {};
  bool tied = false;
};

/// A run under `layout`, with any_hardware().
inline RunOnMesh laid_out(const Layout& layout, const ModelConfig& config, const TrainingOptions& options) {
  RunOnMesh made{.mesh = AbstractMesh::parse(layout.mesh),
                 .run = {.config = config, .options = options, .strategy = {}}};
  made.run.strategy = parse_strategy(layout.strategy, made.mesh);
  made.run.options.form = layout.form;
  made.run.options.prices = any_hardware(made.mesh);
  return made;
}

/// The model of parity under `layout`. The tied one has biases too.
inline RunOnMesh parity_run(const Layout& layout, DType dtype, Index steps) {
  TransformerConfig config = parity_config(layout.tied ? ParityTask::tied : ParityTask::usual);
  config.qkv_biases = layout.tied;
  return laid_out(layout, config, parity_options(dtype, steps));
}

/// What a run leaves on a rank.
struct Outcome {
  std::vector<StepResult> steps;
  double validation = 0;                 ///< loss on held-out samples
  std::map<std::string, Tensor> blocks;  ///< of the state

  /// Losses and norms of all steps, and the loss of the evaluation.
  std::vector<double> numbers() const {
    std::vector<double> all;
    for (const StepResult& step : steps) all.insert(all.end(), {step.loss, step.grad_norm});
    all.push_back(validation);
    return all;
  }
};

/// A run on ranks: its trainer, with what the trainer needs.
class Job {
 public:
  /// Collective over `comm`, which has as many ranks as the mesh.
  Job(const mpi::Communicator& comm, const RunOnMesh& what) : mesh_(what.mesh, comm), engine_(mesh_) {
    if (what.prepare) what.prepare(engine_);
    trainer_.emplace(engine_, plan_training(what.run, what.mesh), what.run.options.prices);
  }

  Trainer& trainer() { return *trainer_; }
  const State& state() const { return trainer_->state(); }

  /// Collective over the mesh: the first `steps` steps, and an evaluation of `batches` batches. All weights must be
  /// numbers then.
  Outcome train(const SampleSource& data, Index steps, Index batches) {
    Outcome made;
    for (Index step = 0; step < steps; ++step) made.steps.push_back(trainer_->step(data, step));
    Index read = 0;
    made.validation = trainer_->evaluate(data, batches, read);
    EXPECT_EQ(trainer_->non_finite_parameter(), "");
    for (const std::string& name : state().names()) made.blocks[name] = state().block(name).clone();
    return made;
  }

 private:
  Mesh mesh_;
  collectives::Engine engine_;
  std::optional<Trainer> trainer_;
};

/// Relative to the reference.
struct Tolerance {
  double loss = 0;
  double norm = 0;
};

inline void expect_close(const Outcome& run, const Outcome& reference, const Tolerance& tolerance) {
  for (std::size_t i = 0; i < reference.steps.size(); ++i) {
    const StepResult& want = reference.steps[i];
    EXPECT_NEAR(run.steps[i].loss, want.loss, tolerance.loss * want.loss) << "step " << i + 1;
    EXPECT_NEAR(run.steps[i].grad_norm, want.grad_norm, tolerance.norm * want.grad_norm) << "step " << i + 1;
  }
  EXPECT_NEAR(run.validation, reference.validation, tolerance.loss * reference.validation);
}

/// All that `run` has is in `whole`, bit for bit.
inline void expect_same_bits(const Outcome& run, const Outcome& whole) {
  EXPECT_EQ(run.numbers(), whole.numbers());
  for (const auto& [name, block] : run.blocks) {
    ASSERT_TRUE(whole.blocks.contains(name)) << name;
    const Tensor& other = whole.blocks.at(name);
    EXPECT_TRUE(block.shape() == other.shape() && block.dtype() == other.dtype() &&
                std::equal(block.data(), block.data() + block.bytes(), other.data()))
        << name;
  }
}

/// Collective over `comm`: a run takes no more memory than training_memory() says, and at least half of it.
inline void expect_known_memory(const mpi::Communicator& comm, const RunOnMesh& what, const SampleSource& data) {
  const TrainingPlan plan = plan_training(what.run, what.mesh);
  const Index rank = comm.rank();
  const TrainingMemory known =
      training_memory(plan, plan.stage_of(what.mesh, rank), plan.rank_in_stage(what.mesh, rank));
  const Index before = tensor_memory().now;
  reset_tensor_peak();
  Job job(comm, what);
  for (Index step = 0; step < 2; ++step) job.trainer().step(data, step);
  Index read = 0;
  job.trainer().evaluate(data, 1, read);
  const auto taken = static_cast<double>(tensor_memory().peak - before);
  constexpr double kScalars = 64;  // bytes read from a result
  EXPECT_LE(taken, (known.own + known.arena).value + kScalars);
  EXPECT_GE(taken, 0.5 * (known.own + known.arena).value);
}

/// Tests on the ranks of the whole job, and on each rank alone.
class OnRanks : public testing::Test {
 protected:
  mpi::Communicator world_ = mpi::Communicator::world();
  mpi::Communicator alone_ = world_.split(world_.rank(), 0);
  std::string all_on_x_ = "X=" + std::to_string(world_.size());
};

}  // namespace shardline
