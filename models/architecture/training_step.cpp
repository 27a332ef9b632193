#include "models/architecture/training_step.h"

#include <algorithm>
#include <array>
#include <map>

#include "program/ops/adamw.h"
#include "program/ops/add.h"
#include "program/ops/cast.h"
#include "program/ops/descent.h"
#include "program/ops/sum_squares.h"
#include "program/transform/accumulate.h"
#include "program/transform/differentiate.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

void add_gradients(TrainingStep& step, const std::vector<ArrayId>& also_wanted) {
  Program& p = step.model.program;
  step.arrays.loss_seed = p.add_input("dloss", {}, Role::whole);
  std::vector<ArrayId> wanted = also_wanted;
  for (const ModelParameter& parameter : step.model.parameters) wanted.push_back(parameter.array);
  std::map<ArrayId, ArrayId> seeds = {{step.model.loss, step.arrays.loss_seed}};
  if (!step.model.balance.empty()) step.arrays.balance_seed = p.add_input("dbalance", {}, Role::whole);
  for (const ArrayId loss : step.model.balance) seeds[loss] = step.arrays.balance_seed;
  const std::map<ArrayId, ArrayId> gradients = differentiate(p, seeds, wanted);
  for (const ModelParameter& parameter : step.model.parameters) {
    step.gradients.push_back(gradients.at(parameter.array));
  }
  for (const ArrayId array : also_wanted) p.outputs.push_back(gradients.at(array));
}

/// The gradients, the losses and the counts of the whole step, from those of one micro-batch.
void sum_over_micro_batches(TrainingStep& step) {
  Program& p = step.model.program;
  Model& model = step.model;
  std::erase(p.outputs, model.loss);
  std::vector<ArrayId> loss{model.loss};
  const std::array<std::vector<ArrayId>*, 5> all = {&step.gradients, &model.balance, &model.routed, &model.dropped,
                                                    &loss};
  std::vector<ArrayId> parts;
  for (const std::vector<ArrayId>* some : all) parts.insert(parts.end(), some->begin(), some->end());
  const std::vector<ArrayId> wholes = accumulate(p, parts);
  auto next = wholes.begin();
  for (std::vector<ArrayId>* some : all) {
    for (ArrayId& array : *some) array = *next++;
  }
  model.loss = loss[0];
  p.outputs.insert(p.outputs.begin(), step.model.loss);
}

/// Gradients of masters become their type in the update, all of them: until then nothing waits for their reductions.
void cast_in_update(TrainingStep& step) {
  std::vector<Operation>& operations = step.model.program.operations;
  const std::vector<ArrayId>& gradients = step.gradients;
  const auto late = std::stable_partition(operations.begin(), operations.end(), [&](const Operation& op) {
    return op.kind != cast_kind().name ||
           std::find(gradients.begin(), gradients.end(), op.results[0]) == gradients.end();
  });
  for (auto op = late; op != operations.end(); ++op) op->region = {Pass::update, 0};
}

void add_norm(TrainingStep& step) {
  Program& p = step.model.program;
  std::vector<ArrayId> squares;
  for (std::size_t i = 0; i < step.gradients.size(); ++i) {
    const std::string name = "d" + p.array(step.model.parameters[i].array).name;
    squares.push_back(sum_squares(p, name + ".squares", step.gradients[i]));
  }
  step.arrays.norm_squared = add(p, "norm.squares", squares, Role::whole);
  p.outputs.push_back(step.arrays.norm_squared);
}

void add_adamw(TrainingStep& step, const AdamW& options, DType moments) {
  Program& p = step.model.program;
  step.arrays.step = p.add_input("step", {}, Role::whole);
  for (std::size_t i = 0; i < step.gradients.size(); ++i) {
    const ArrayId parameter = step.model.parameters[i].array;
    const Array w = p.array(parameter);
    const ArrayId m = p.add_input("m." + w.name, w.dims, Role::optimizer_state);
    const ArrayId v = p.add_input("v." + w.name, w.dims, Role::optimizer_state);
    p.array(m).dtype = p.array(v).dtype = moments;
    kernels::AdamWOptions own = options;
    if (!options.decays_all && !step.model.parameters[i].decays) own.weight_decay = 0;
    adamw(p,
          {.parameter = parameter,
           .gradient = step.gradients[i],
           .first_moment = m,
           .second_moment = v,
           .norm_squared = step.arrays.norm_squared,
           .learning_rate = step.arrays.learning_rate,
           .step = step.arrays.step},
          own);
  }
}

/// The norm is made under every optimizer: it is a result of the step.
void add_update(TrainingStep& step, const StepOptions& options) {
  Program& p = step.model.program;
  p.region = {Pass::update, 0};
  add_norm(step);
  if (!step.model.balance.empty()) {
    step.arrays.balance = add(p, "balance", step.model.balance, Role::whole);
    p.outputs.push_back(step.arrays.balance);
  }
  step.arrays.learning_rate = p.add_input("learning_rate", {}, Role::whole);
  const std::size_t before = p.updates.size();
  if (const auto* with = std::get_if<AdamW>(&options.optimizer)) {
    add_adamw(step, *with, options.moments);
  } else {
    for (std::size_t i = 0; i < step.gradients.size(); ++i) {
      descent(p, step.model.parameters[i].array, step.gradients[i], step.arrays.learning_rate);
    }
  }
  for (std::size_t k = before; k < p.updates.size(); ++k) p.outputs.push_back(p.updates[k].second);
}

}  // namespace

TrainingStep add_training(Model model, const StepOptions& options) {
  TrainingStep step{.model = std::move(model), .arrays = {}, .gradients = {}};
  step.model.program.outputs = {step.model.loss};
  add_gradients(step, options.also_wanted);
  if (options.form.micro_batches > 1) {
    sum_over_micro_batches(step);
  } else {
    cast_in_update(step);
  }
  for (const std::vector<ArrayId>* counts : {&step.model.routed, &step.model.dropped}) {
    step.model.program.outputs.insert(step.model.program.outputs.end(), counts->begin(), counts->end());
  }
  add_update(step, options);
  rematerialise(step.model.program, options.form.remat);
  prune(step.model.program);
  return step;
}

BatchShape micro_batch_of(const BatchShape& batch, Index micro_batches) {
  require(micro_batches >= 1 && batch.sequences % micro_batches == 0,
          "{} micro-batches do not divide the {} sequences of the batch", micro_batches, batch.sequences);
  BatchShape part = batch;
  part.sequences /= micro_batches;
  return part;
}

}  // namespace shardline
