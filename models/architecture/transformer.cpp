#include "models/architecture/transformer.h"

#include "models/architecture/forward.h"
#include "program/ops/cross_entropy.h"

namespace shardline {

Model make_inference(const TransformerConfig& config, const BatchShape& batch, DType dtype) {
  Model model = make_forward(config, batch, {.dtype = dtype, .weights = sum_type(dtype)});
  model.program.outputs = {model.result};
  prune(model.program);
  return model;
}

Model make_generation(const TransformerConfig& config, const BatchShape& batch, const CacheForm& cache, DType dtype) {
  Model model = make_forward(config, batch, {.dtype = dtype, .weights = dtype, .cache = cache});
  Array& logits = model.program.array(model.result);
  logits.role = Role::whole;
  logits.dtype = sum_type(dtype);
  model.program.outputs = {model.result};
  prune(model.program);
  return model;
}

namespace {

/// Forward pass to the loss, which is the mean over `parts` batches of this shape. If it `balances`, also to the losses
/// of uneven routing.
Model make_part(const TransformerConfig& config, const BatchShape& batch, const TrainingTypes& types, Index parts,
                bool balances) {
  const DType weights = types.weights.value_or(types.model);
  Model model =
      make_forward(config, batch, {.dtype = types.model, .weights = weights, .balance_parts = balances ? parts : 0});
  model.samples.insert(model.samples.begin() + 1, model.program.add_input("labels", {"B", "T"}, Role::tokens));
  model.loss = cross_entropy(model.program, "loss", model.result, model.samples[1], parts);
  model.program.outputs = {model.loss};
  return model;
}

}  // namespace

Model make_evaluation(const TransformerConfig& config, const BatchShape& batch, DType dtype) {
  Model model = make_part(config, batch, {.model = dtype, .weights = sum_type(dtype)}, 1, false);
  for (const std::vector<ArrayId>* told : {&model.routed, &model.dropped, &model.closest}) {
    model.program.outputs.insert(model.program.outputs.end(), told->begin(), told->end());
  }
  return model;
}

TrainingStep make_training_step(const TransformerConfig& config, const BatchShape& batch, const Optimizer& optimizer,
                                const TrainingTypes& types, const StepForm& form) {
  return add_training(make_part(config, micro_batch_of(batch, form.micro_batches), types, form.micro_batches, true),
                      {.optimizer = optimizer, .moments = types.moments, .form = form});
}

}  // namespace shardline
