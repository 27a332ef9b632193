#include "models/architecture/mlp.h"

#include <cmath>

#include "models/architecture/parameters.h"
#include "program/ops/einsum.h"
#include "program/ops/gelu.h"
#include "program/ops/squared_error.h"
#include "program/transform/differentiate.h"

namespace shardline {
namespace {

/// One layer's arrays.
struct MlpLayer {
  ArrayId w_in = -1;
  ArrayId w_out = -1;
  ArrayId out = -1;
};

/// Appends a layer. `number` ends the names of its arrays. `weights`: type of its parameters.
MlpLayer append_layer(Program& p, ArrayId in, MlpActivation activation, const std::string& number, DType weights) {
  MlpLayer layer;
  layer.w_in = add_parameter(p, "W_in" + number, {"D", "F"}, weights);
  layer.w_out = add_parameter(p, "W_out" + number, {"F", "D"}, weights);
  const ArrayId w_in = read_parameter(p, layer.w_in);
  const ArrayId w_out = read_parameter(p, layer.w_out);
  ArrayId inner = einsum(p, "Tmp" + number, {in, w_in}, {"B", "F"});
  if (activation == MlpActivation::gelu) inner = gelu(p, "Act" + number, inner);
  layer.out = einsum(p, "Out" + number, {inner, w_out}, {"B", "D"}, Role::stream);
  return layer;
}

/// The loss is the mean over `parts` batches of this shape. First weights keep the variance of what they multiply.
Model mlp_with_loss(const MlpConfig& config, const BatchShape& batch, const TrainingTypes& types, Index parts) {
  Model model;
  Program& p = model.program;
  p.dtype = types.model;
  p.sizes = {{"B", batch.sequences * batch.tokens}, {"D", config.d_model}, {"F", config.d_ff}};
  model.samples = {p.add_input("In", {"B", "D"}, Role::stream), p.add_input("Target", {"B", "D"}, Role::stream)};
  model.result = model.samples[0];
  for (Index number = 1; number <= config.layers; ++number) {
    p.region = {Pass::forward, static_cast<int>(number)};
    const std::string ending = config.layers == 1 ? "" : std::to_string(number);
    const MlpLayer layer =
        append_layer(p, model.result, config.activation, ending, types.weights.value_or(types.model));
    const auto deviation = [](Index summed) { return 1 / std::sqrt(static_cast<double>(summed)); };
    const auto add = [&](ArrayId array, Index summed) {
      model.parameters.push_back(
          {.array = array, .checkpoint_name = p.array(array).name, .initial_deviation = deviation(summed)});
    };
    add(layer.w_in, config.d_model);
    add(layer.w_out, config.d_ff);
    model.result = layer.out;
  }
  p.region = {Pass::forward, static_cast<int>(config.layers) + 1};
  model.loss = squared_error(p, "loss", model.result, model.samples[1], parts);
  p.outputs = {model.loss};
  return model;
}

}  // namespace

Mlp make_mlp(const MlpSizes& sizes, DType dtype) {
  Mlp mlp;
  Program& p = mlp.program;
  p.dtype = dtype;
  p.sizes = {{"B", sizes.batch}, {"D", sizes.d_model}, {"F", sizes.d_ff}};
  const ArrayId in = p.add_input("In", {"B", "D"}, Role::stream);
  const MlpLayer layer = append_layer(p, in, MlpActivation::none, "", dtype);
  const ArrayId d_out = p.add_input("dOut", {"B", "D"}, Role::gradient);
  p.array(d_out).primal = layer.out;
  mlp.gradients = differentiate(p, {{layer.out, d_out}}, {in, layer.w_in, layer.w_out});
  p.outputs = {layer.out};
  for (const auto& [array, gradient] : mlp.gradients) p.outputs.push_back(gradient);
  return mlp;
}

Model make_evaluation(const MlpConfig& config, const BatchShape& batch, DType dtype) {
  return mlp_with_loss(config, batch, {.model = dtype, .weights = sum_type(dtype)}, 1);
}

TrainingStep make_training_step(const MlpConfig& config, const BatchShape& batch, const Optimizer& optimizer,
                                const TrainingTypes& types, const StepForm& form) {
  Model model = mlp_with_loss(config, micro_batch_of(batch, form.micro_batches), types, form.micro_batches);
  const ArrayId in = model.samples[0];
  return add_training(std::move(model),
                      {.optimizer = optimizer, .moments = types.moments, .form = form, .also_wanted = {in}});
}

}  // namespace shardline
