#pragma once

#include "models/architecture/config.h"
#include "models/architecture/forward.h"
#include "models/architecture/training_step.h"

namespace shardline {

// A LLaMA-style Transformer as a logical program. Heads are separate dims everywhere: K (key-value), G (queries per
// key) and H.

/// Forward pass to the logits, in elements of `dtype`. In bf16 the parameters are f32, see TrainingTypes::weights; the
/// same holds for make_evaluation().
Model make_inference(const TransformerConfig& config, const BatchShape& batch, DType dtype = DType::f32);

/// A run that continues texts (book section 7.1): prefill of the tokens of a prompt or of a chunk of it, or decode if
/// the batch has one token a sequence. Writes their keys and values into the caches, see Model::cached, and gives the
/// logits that follow the last token of each sequence, on every rank: [B, V], or with one token [B, 1, V]. They are in
/// sum_type() of `dtype`; parameters are in `dtype`, and so are caches unless CacheForm says otherwise.
Model make_generation(const TransformerConfig& config, const BatchShape& batch, const CacheForm& cache, DType dtype);

/// Forward pass to the loss, see Model::loss.
Model make_evaluation(const TransformerConfig& config, const BatchShape& batch, DType dtype = DType::f32);

/// Forward and backward pass and the update, in one program; see add_training(). The micro-batches must divide the
/// sequences, else UsageError.
TrainingStep make_training_step(const TransformerConfig& config, const BatchShape& batch, const Optimizer& optimizer,
                                const TrainingTypes& types = {}, const StepForm& form = {});

}  // namespace shardline
