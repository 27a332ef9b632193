#include "models/architecture/transformer.h"

#include <fmt/format.h>

#include "program/ops/adamw.h"
#include "program/ops/add.h"
#include "program/ops/attention.h"
#include "program/ops/cross_entropy.h"
#include "program/ops/einsum.h"
#include "program/ops/embed.h"
#include "program/ops/gelu.h"
#include "program/ops/gelu_mul.h"
#include "program/ops/rms_norm.h"
#include "program/ops/rope.h"
#include "program/ops/silu_mul.h"
#include "program/ops/sum_squares.h"
#include "program/transform/accumulate.h"
#include "program/transform/differentiate.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Adds the forward pass to a program, layer by layer.
class Forward {
 public:
  Forward(const TransformerConfig& config, const BatchShape& batch, DType dtype) : config_(config) {
    program().dtype = dtype;
    program().sizes = {{"B", batch.sequences},
                       {"T", batch.tokens},
                       {"D", config.d_model},
                       {"K", config.kv_heads},
                       {"G", config.heads / config.kv_heads},
                       {"H", config.head_dim},
                       {"F", config.d_ff},
                       {"V", config.vocab}};
    model_.ids = program().add_input("ids", {"B", "T"}, Role::tokens);
  }

  Transformer build() {
    const ArrayId table = parameter("E", "model.embed_tokens.weight", {"V", "D"});
    ArrayId x = embed(program(), "x0", table, model_.ids, Role::stream);
    for (Index layer = 1; layer <= config_.layers; ++layer) x = add_layer(static_cast<int>(layer), x);
    program().region = {Pass::forward, static_cast<int>(config_.layers) + 1};
    const ArrayId w_final = parameter("w_final", "model.norm.weight", {"D"});
    const ArrayId z = rms_norm(program(), "z", x, w_final, config_.rms_eps);
    const ArrayId unembed = config_.tied ? table : parameter("U", "lm_head.weight", {"V", "D"});
    model_.logits = einsum(program(), "logits", {z, unembed}, {"B", "T", "V"});
    return std::move(model_);
  }

 private:
  Program& program() { return model_.program; }

  ArrayId parameter(const std::string& name, const std::string& checkpoint_name, const std::vector<std::string>& dims,
                    int input_dims = 0) {
    const ArrayId array = program().add_input(name, dims, Role::parameter);
    model_.parameters.push_back({array, checkpoint_name, input_dims});
    return array;
  }

  ArrayId add_layer(int layer, ArrayId x) {
    program().region = {Pass::forward, layer};
    number_ = std::to_string(layer);
    prefix_ = fmt::format("model.layers.{}.", layer - 1);
    const ArrayId attended = add(program(), "h" + number_, {x, add_attention(x)}, Role::stream);
    return add(program(), "x" + number_, {attended, add_mlp(attended)}, Role::stream);
  }

  /// Attention of one layer: the term that it adds to the residual stream.
  ArrayId add_attention(ArrayId x) {
    Program& p = program();
    const std::string& n = number_;
    const ArrayId w_norm = parameter("w_attn" + n, prefix_ + "input_layernorm.weight", {"D"});
    const ArrayId w_q = parameter("W_q" + n, prefix_ + "self_attn.q_proj.weight", {"D", "K", "G", "H"}, 1);
    const ArrayId w_k = parameter("W_k" + n, prefix_ + "self_attn.k_proj.weight", {"D", "K", "H"}, 1);
    const ArrayId w_v = parameter("W_v" + n, prefix_ + "self_attn.v_proj.weight", {"D", "K", "H"}, 1);
    const ArrayId w_o = parameter("W_o" + n, prefix_ + "self_attn.o_proj.weight", {"K", "G", "H", "D"}, 3);
    const ArrayId y = rms_norm(p, "y" + n, x, w_norm, config_.rms_eps);
    const ArrayId q = einsum(p, "q" + n, {y, w_q}, {"B", "T", "K", "G", "H"});
    const ArrayId k = einsum(p, "k" + n, {y, w_k}, {"B", "T", "K", "H"});
    const ArrayId v = einsum(p, "v" + n, {y, w_v}, {"B", "T", "K", "H"});
    const ArrayId q_turned = rope(p, "qr" + n, q, config_.rope_theta);
    const ArrayId k_turned = rope(p, "kr" + n, k, config_.rope_theta);
    const ArrayId o = attention(p, "o" + n, q_turned, k_turned, v);
    return einsum(p, "a" + n, {o, w_o}, {"B", "T", "D"});
  }

  /// The MLP of one layer: the term that it adds to the residual stream.
  ArrayId add_mlp(ArrayId h) {
    Program& p = program();
    const std::string& n = number_;
    const ArrayId w_norm = parameter("w_mlp" + n, prefix_ + "post_attention_layernorm.weight", {"D"});
    const ArrayId w_gate =
        is_gated(config_.mlp) ? parameter("W_gate" + n, prefix_ + "mlp.gate_proj.weight", {"D", "F"}, 1) : ArrayId{-1};
    const ArrayId w_up = parameter("W_up" + n, prefix_ + "mlp.up_proj.weight", {"D", "F"}, 1);
    const ArrayId w_down = parameter("W_down" + n, prefix_ + "mlp.down_proj.weight", {"F", "D"}, 1);
    const ArrayId y = rms_norm(p, "n" + n, h, w_norm, config_.rms_eps);
    const auto gate = [&] { return einsum(p, "g" + n, {y, w_gate}, {"B", "T", "F"}); };
    const ArrayId g = is_gated(config_.mlp) ? gate() : ArrayId{-1};
    const ArrayId u = einsum(p, "u" + n, {y, w_up}, {"B", "T", "F"});
    const ArrayId s = config_.mlp == MlpForm::gelu    ? gelu(p, "s" + n, u)
                      : config_.mlp == MlpForm::geglu ? gelu_mul(p, "s" + n, g, u)
                                                      : silu_mul(p, "s" + n, g, u);
    return einsum(p, "d" + n, {s, w_down}, {"B", "T", "D"});
  }

  const TransformerConfig& config_;
  Transformer model_;
  std::string number_;  ///< layer number, from 1
  std::string prefix_;  ///< prefix of the layer's names in a checkpoint, from 0
};

}  // namespace

Transformer make_inference(const TransformerConfig& config, const BatchShape& batch, DType dtype) {
  Transformer model = Forward(config, batch, dtype).build();
  model.program.outputs = {model.logits};
  return model;
}

namespace {

/// Forward pass to the loss, which is the mean over `parts` batches of this shape.
Transformer make_part(const TransformerConfig& config, const BatchShape& batch, DType dtype, Index parts) {
  Transformer model = Forward(config, batch, dtype).build();
  model.labels = model.program.add_input("labels", {"B", "T"}, Role::tokens);
  model.loss = cross_entropy(model.program, "loss", model.logits, model.labels, parts);
  model.program.outputs = {model.loss};
  return model;
}

/// The gradients and the loss of the whole step, from those of one micro-batch.
void sum_over_micro_batches(TrainingStep& step) {
  std::vector<ArrayId> parts = step.gradients;
  parts.push_back(step.model.loss);
  std::vector<ArrayId> wholes = accumulate(step.model.program, parts);
  step.model.loss = wholes.back();
  wholes.pop_back();
  step.gradients = std::move(wholes);
  step.model.program.outputs = {step.model.loss};
}

}  // namespace

Transformer make_evaluation(const TransformerConfig& config, const BatchShape& batch, DType dtype) {
  return make_part(config, batch, dtype, 1);
}

TrainingStep make_training_step(const TransformerConfig& config, const BatchShape& batch,
                                const kernels::AdamWOptions& options, const TrainingTypes& types,
                                const StepForm& form) {
  const Index micro_batches = form.micro_batches;
  require(micro_batches >= 1 && batch.sequences % micro_batches == 0,
          "{} micro-batches do not divide the {} sequences of the batch", micro_batches, batch.sequences);
  TrainingStep step;
  step.model = make_part(config, {batch.sequences / micro_batches, batch.tokens}, types.model, micro_batches);
  Program& p = step.model.program;
  TrainingArrays& arrays = step.arrays;
  arrays.loss_seed = p.add_input("one", {}, Role::whole);
  std::vector<ArrayId> wanted;
  for (const ModelParameter& parameter : step.model.parameters) wanted.push_back(parameter.array);
  const std::map<ArrayId, ArrayId> gradients = differentiate(p, {{step.model.loss, arrays.loss_seed}}, wanted);

  for (const ArrayId w : wanted) step.gradients.push_back(gradients.at(w));
  if (micro_batches > 1) sum_over_micro_batches(step);
  p.region = {Pass::update, 0};
  std::vector<ArrayId> squares;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    squares.push_back(sum_squares(p, "d" + p.array(wanted[i]).name + ".squares", step.gradients[i]));
  }
  arrays.norm_squared = add(p, "norm.squares", squares, Role::whole);
  arrays.learning_rate = p.add_input("learning_rate", {}, Role::whole);
  arrays.step = p.add_input("step", {}, Role::whole);
  p.outputs.push_back(arrays.norm_squared);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Array w = p.array(wanted[i]);
    const ArrayId m = p.add_input("m." + w.name, w.dims, Role::optimizer_state);
    const ArrayId v = p.add_input("v." + w.name, w.dims, Role::optimizer_state);
    p.array(m).dtype = p.array(v).dtype = types.moments;
    kernels::AdamWOptions own = options;
    if (w.dims.size() == 1) own.weight_decay = 0;
    adamw(p,
          {.parameter = wanted[i],
           .gradient = step.gradients[i],
           .first_moment = m,
           .second_moment = v,
           .norm_squared = arrays.norm_squared,
           .learning_rate = arrays.learning_rate,
           .step = arrays.step},
          own);
    for (std::size_t k = p.updates.size() - 3; k < p.updates.size(); ++k) p.outputs.push_back(p.updates[k].second);
  }
  rematerialise(p, form.remat);
  prune(p);
  return step;
}

}  // namespace shardline
