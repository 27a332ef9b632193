#pragma once

#include <map>

#include "models/architecture/training_step.h"

namespace shardline {

struct MlpSizes {
  Index batch = 0;    ///< B, in tokens
  Index d_model = 0;  ///< D
  Index d_ff = 0;     ///< F
};

/// The two-matmul block of book section 5.1 with its backward pass: In[B,D] -> W_in[D,F] -> W_out[F,D] ->
/// Out[B,D]. The input dOut[B,D] starts the backward pass.
struct Mlp {
  Program program;
  std::map<ArrayId, ArrayId> gradients;  ///< of In, W_in and W_out
};

Mlp make_mlp(const MlpSizes& sizes, DType dtype = DType::f32);

/// What lies between the two products of a layer.
enum class MlpActivation : std::uint8_t { none, gelu };

/// The model of book section 5.1: layers of two products, Out[B,D] = activation(In[B,D] W_in[D,F]) W_out[F,D], each on
/// the result of the one before. Nothing is added to a layer's result. The array between is called Tmp, and Act after
/// an activation. If there are several layers, the names of arrays end with the layer, from 1.
struct MlpConfig {
  Index d_model = 0;  ///< D
  Index d_ff = 0;     ///< F
  Index layers = 1;   ///< L
  MlpActivation activation = MlpActivation::none;

  bool operator==(const MlpConfig&) const = default;
};

/// Forward pass of an MLP to the loss: the mean over all elements of (Out - Target)^2.
Model make_evaluation(const MlpConfig& config, const BatchShape& batch, DType dtype = DType::f32);

/// Forward and backward pass and the update, in one program; see add_training(). The gradient of In is an output, as in
/// the book, where it goes to the layers before. The micro-batches must divide the sequences, else UsageError.
TrainingStep make_training_step(const MlpConfig& config, const BatchShape& batch, const Optimizer& optimizer,
                                const TrainingTypes& types = {}, const StepForm& form = {});

}  // namespace shardline
