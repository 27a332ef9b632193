#pragma once

#include <string>
#include <vector>

#include "kernels/adamw.h"
#include "models/architecture/config.h"
#include "program/ir/program.h"
#include "program/transform/rematerialise.h"

namespace shardline {

/// Sequences and tokens per sequence of one run.
struct BatchShape {
  Index sequences = 0;  ///< B
  Index tokens = 0;     ///< T
};

/// A parameter of the model in the program, and its form in a Hugging Face LLaMA checkpoint.
struct ModelParameter {
  ArrayId array = -1;
  std::string checkpoint_name;
  /// A checkpoint stores a projection as a matrix [out, in]. This many of our leading dims are its `in`. 0:
  /// stored without a change.
  int input_dims = 0;
};

/// A LLaMA-style Transformer as a logical program. Heads are separate dims everywhere: K (key-value), G
/// (queries per key) and H. The inputs `ids` and `labels` are [B,T].
struct Transformer {
  Program program;
  std::vector<ModelParameter> parameters;
  ArrayId ids = -1;
  ArrayId labels = -1;  ///< training and evaluation
  ArrayId logits = -1;  ///< [B,T,V]; the output of an inference program
  ArrayId loss = -1;    ///< mean over all tokens
};

/// The arrays of the update of a training step, besides the gradients.
struct TrainingArrays {
  ArrayId loss_seed = -1;      ///< input: one
  ArrayId learning_rate = -1;  ///< input
  ArrayId step = -1;           ///< input, counts from 1
  ArrayId norm_squared = -1;   ///< output: of the whole gradient
};

/// Forward pass to the logits, in elements of `dtype`.
Transformer make_inference(const TransformerConfig& config, const BatchShape& batch, DType dtype = DType::f32);

/// Forward pass to the loss.
Transformer make_evaluation(const TransformerConfig& config, const BatchShape& batch, DType dtype = DType::f32);

/// Element types of a training step.
struct TrainingTypes {
  DType model = DType::f32;    ///< of parameters, activations and gradients
  DType moments = DType::f32;  ///< of the optimizer
};

/// How the step of a batch is computed. None of it changes the result beyond rounding.
struct StepForm {
  Index micro_batches = 1;    ///< equal parts of the batch that pass through the model one after the other
  Remat remat = Remat::none;  ///< what stays of the forward pass
};

/// The program of a training step, and its arrays.
struct TrainingStep {
  Transformer model;
  TrainingArrays arrays;
  std::vector<ArrayId> gradients;  ///< of model.parameters, in their order
};

/// Forward and backward pass and the AdamW update with clipping by global norm, in one program. Its state is
/// the parameters and their two moments. Parameters of one dim have no weight decay. With several micro-batches: the
/// program of one of them, whose sums write_out() carries on, and the update of the whole step; their number must
/// divide the sequences, else UsageError.
TrainingStep make_training_step(const TransformerConfig& config, const BatchShape& batch,
                                const kernels::AdamWOptions& options, const TrainingTypes& types = {},
                                const StepForm& form = {});

}  // namespace shardline
