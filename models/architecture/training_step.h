#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "kernels/adamw.h"
#include "models/architecture/model.h"
#include "program/transform/rematerialise.h"

namespace shardline {

/// Plain gradient descent: w' = w - learning_rate * gradient, without clipping.
struct PlainDescent {};

/// AdamW. It clips by the norm of all gradients together. Weight decay acts on the parameters that say so
/// (ModelParameter::decays).
struct AdamW : kernels::AdamWOptions {
  bool decays_all = false;  ///< weight decay acts on every parameter
};

/// How parameters follow their gradients.
using Optimizer = std::variant<AdamW, PlainDescent>;

/// Element types of a training step.
struct TrainingTypes {
  DType model = DType::f32;    ///< of activations, and of their gradients
  DType moments = DType::f32;  ///< of the optimizer
  /// Of the parameters of the state; none: as `model`. If they differ, a step computes with copies that it casts (see
  /// Role::master), and the update sees gradients of this type. Parameters of one dim have no copies.
  std::optional<DType> weights = {};
};

/// How the step of a batch is computed. None of it changes the result beyond rounding.
struct StepForm {
  Index micro_batches = 1;    ///< equal parts of the batch that pass through the model one after the other
  Remat remat = Remat::none;  ///< what stays of the forward pass
};

/// The arrays of the update of a training step, besides the gradients.
struct TrainingArrays {
  /// Input: the gradient of the loss. 1; where only some labels count, the number of all labels over that of those.
  ArrayId loss_seed = -1;
  ArrayId balance_seed = -1;   ///< input: the gradient of the losses of uneven routing, 1; -1 if there are none
  ArrayId balance = -1;        ///< output: their sum
  ArrayId learning_rate = -1;  ///< input
  ArrayId step = -1;           ///< input, counts from 1; -1 if the optimizer does not count
  ArrayId norm_squared = -1;   ///< output: of the whole gradient
};

/// The program of a training step, and its arrays.
struct TrainingStep {
  Model model;
  TrainingArrays arrays;
  std::vector<ArrayId> gradients;  ///< of model.parameters, in their order
};

/// What is added to a model with a loss.
struct StepOptions {
  Optimizer optimizer;
  DType moments = DType::f32;
  StepForm form;                       ///< the model is that of one micro-batch; its loss is its part of the mean
  std::vector<ArrayId> also_wanted{};  ///< arrays whose gradients are made too, as outputs
};

/// Forward and backward pass and the update, in one program. Its state is the parameters and, under AdamW, their two
/// moments. With several micro-batches: the program of one of them, whose sums write_out() carries on, and the update
/// of the whole step.
TrainingStep add_training(Model model, const StepOptions& options);

/// The shape of one of so many equal parts of a batch. Throws UsageError unless they divide its sequences.
BatchShape micro_batch_of(const BatchShape& batch, Index micro_batches);

}  // namespace shardline
