#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "models/architecture/mlp.h"
#include "models/architecture/transformer.h"
#include "models/checkpoint/training_position.h"
#include "models/data/token_order.h"
#include "models/strategy/strategies.h"
#include "models/training/pipeline_plan.h"
#include "program/plan/compiled.h"
#include "program/plan/state_plan.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// Options of a training run, the model and its strategy apart.
struct TrainingOptions {
  BatchShape batch;
  StepForm form;
  double learning_rate = 3e-3;  ///< after warm-up
  double least_share = 0.1;     ///< of it, in the last step: a cosine lowers it
  Index steps = 0;
  Index warmup = 20;  ///< steps in which it rises from 0
  Optimizer optimizer;
  Policy policy;
  ScheduleOptions schedule;
  roofline::Hardware prices;  ///< for decisions: equal on all ranks, and never measured at start
  bool by_price = false;      ///< prices assign every operation (partition_by_price()), not the strategy's table
  DType dtype = DType::f32;   ///< f32, f64, or bf16: then weights and moments of the state are f32
  std::uint64_t seed = 0;
  PipelineOptions pipeline;  ///< if the strategy makes stages
  /// Of sequences that ranks share; without one: zigzag.
  std::optional<TokenOrder> token_order = {};
  bool pack = false;  ///< samples hold several documents, and tokens see only their own (see SampleSource)

  TokenOrder shared_order() const { return token_order.value_or(TokenOrder::zigzag); }
  /// The batch, and how documents and tokens lie in it.
  BatchShape shape() const {
    BatchShape shape = batch;
    shape.packed = pack;
    shape.balanced = shared_order() != TokenOrder::contiguous;
    return shape;
  }
  BatchShape micro_batch() const {
    BatchShape part = shape();
    part.sequences /= form.micro_batches;
    return part;
  }
  double tokens() const { return static_cast<double>(batch.sequences) * static_cast<double>(batch.tokens); }
  TrainingTypes types() const { return {.model = dtype, .moments = sum_type(dtype), .weights = sum_type(dtype)}; }
};

class State;  // its header needs MPI, a plan does not

/// Which model a run trains.
using ModelConfig = std::variant<TransformerConfig, MlpConfig>;

struct TrainingRun;

/// The layers of the run's model, embedding and output projection apart.
Index layers_of(const TrainingRun& run);

/// What a training run is.
struct TrainingRun {
  ModelConfig config;
  TrainingOptions options;
  Strategy strategy;
  /// Sets every parameter of a state of this model, and its moments if they are not zeros; called on every rank.
  /// Without it the seed sets the parameters: normal with the standard deviation of each, ones for parameters of one
  /// dim, the same on every mesh.
  std::function<void(State&, const Model&)> start = {};
  TrainingPosition begin = {};  ///< where a run that goes on begins

  /// The ranks of this mesh that share a sequence; 1: none do.
  Index ranks_of_sequence(const AbstractMesh& mesh) const;
  /// The positions of a sequence in the order in which its tokens lie on this mesh: a permutation of 0 to T - 1.
  std::vector<Index> positions(const AbstractMesh& mesh) const;
  /// The number of weights, and the FLOPs of one training step by the usual count.
  Index parameters() const;
  Flops flops_of_step() const;
  /// The program of a training step under `options`.
  TrainingStep step_model() const;
};

/// The programs of the ranks of a stage.
struct StagePrograms {
  /// For each micro-batch of a step, its own array for each of step_model's inputs that hold samples, if the stage
  /// reads it.
  std::vector<std::map<ArrayId, ArrayId>> samples;
  std::vector<std::optional<Task>> tasks;  ///< by step of `step`, see WrittenOut
  std::shared_ptr<Compiled> step;
  std::shared_ptr<Compiled> evaluation;

  /// The arrays that both programs use.
  StatePlan state() const { return plan_state({step.get(), evaluation.get()}); }
};

/// A training run before it holds an array: its models, and their programs compiled for the ranks of the mesh. A
/// Trainer runs exactly these programs, so all counts agree.
struct TrainingPlan {
  TrainingRun run;
  TrainingStep step_model;
  Model evaluation_model;
  std::optional<PipelinePlan> pipeline;  ///< if the strategy makes stages
  std::vector<StagePrograms> stages;     ///< one, if it makes none

  /// The stage of a rank of `mesh`, the mesh of the plan; 0 without a pipeline. And its rank on the mesh of the stage.
  int stage_of(const AbstractMesh& mesh, Index rank) const;
  Index rank_in_stage(const AbstractMesh& mesh, Index rank) const;
};

/// The program of one micro-batch of a step, and how all that is made from it is compiled.
struct MicroStep {
  RankProgram program;
  CompileOptions how;
};

/// The checked program of one micro-batch, on the mesh of a stage: `within` lacks the axis of the stages. What orders
/// its sums, assignments and fusions, is decided on the program without repeats, so no policy changes a bit. Pure.
/// Throws UsageError as declare().
MicroStep micro_step(const TrainingRun& run, const AbstractMesh& within);

/// Derives the programs of every rank and checks them. Pure; does not allocate the arrays. Throws UsageError as
/// declare(), stage_axis() and plan_pipeline().
TrainingPlan plan_training(const TrainingRun& run, const AbstractMesh& mesh);

}  // namespace shardline
