#include "models/architecture/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/architecture/parameters.h"
#include "program/ops/add.h"
#include "program/ops/add_bias.h"
#include "program/ops/attention.h"
#include "program/ops/balance_loss.h"
#include "program/ops/cache_attention.h"
#include "program/ops/cast.h"
#include "program/ops/closest_choice.h"
#include "program/ops/combine.h"
#include "program/ops/dispatch.h"
#include "program/ops/einsum.h"
#include "program/ops/embed.h"
#include "program/ops/expert_gate.h"
#include "program/ops/expert_load.h"
#include "program/ops/expert_product.h"
#include "program/ops/gelu.h"
#include "program/ops/gelu_mul.h"
#include "program/ops/pick_rows.h"
#include "program/ops/rms_norm.h"
#include "program/ops/rope.h"
#include "program/ops/silu_mul.h"
#include "program/ops/slots.h"
#include "program/ops/softmax.h"
#include "program/ops/top_k.h"
#include "program/ops/write_at.h"

namespace shardline {
namespace {

/// Adds the forward pass to a program, layer by layer.
class Forward {
 public:
  Forward(const TransformerConfig& config, const BatchShape& batch, const ForwardOptions& options)
      : config_(config), options_(options), balanced_(batch.balanced) {
    program().dtype = options.dtype;
    program().sizes = {{"B", batch.sequences},
                       {"T", batch.tokens},
                       {"D", config.d_model},
                       {"K", config.kv_heads},
                       {"G", config.heads / config.kv_heads},
                       {"H", config.head_dim},
                       {"F", config.d_ff},
                       {"V", config.vocab}};
    if (config.experts.count > 0) add_expert_sizes(batch);
    model_.samples = {program().add_input("ids", {"B", "T"}, Role::tokens)};
    if (options.cache) add_cache_inputs(batch.tokens);
    if (!options.cache || options.cache->fresh || config.experts.count > 0) {
      model_.positions = program().add_input("positions", {"T"}, Role::positions);
    }
    if (batch.packed) starts_ = program().add_input("starts", {"B", "T"}, Role::tokens);
    if (batch.packed) model_.samples.push_back(starts_);
  }

  Model build() {
    const ArrayId table = parameter("E", "model.embed_tokens.weight", {"V", "D"});
    model_.parameters.back().decays = false;  // also where it is the output projection too
    ArrayId x = embed(program(), "x0", table, model_.samples[0], Role::stream);
    for (Index layer = 1; layer <= config_.layers; ++layer) x = add_layer(static_cast<int>(layer), x);
    program().region = {Pass::forward, static_cast<int>(config_.layers) + 1};
    if (model_.cached.last >= 0) x = pick_rows(program(), "x_last", x, model_.cached.last, Role::stream);
    const ArrayId w_final = parameter("w_final", "model.norm.weight", {"D"});
    const ArrayId z = rms_norm(program(), "z", x, w_final, config_.rms_eps);
    const ArrayId unembed = config_.tied ? table : parameter("U", "lm_head.weight", {"V", "D"});
    const bool of_all = model_.cached.last < 0;
    model_.result = einsum(program(), "logits", {z, unembed}, of_all ? Dims{"B", "T", "V"} : Dims{"B", "V"});
    return std::move(model_);
  }

 private:
  Program& program() { return model_.program; }

  /// Adds a parameter. `as` says all but its array.
  ArrayId add_as(ModelParameter as, const std::string& name, const std::vector<std::string>& dims) {
    as.array = add_parameter(program(), name, dims, options_.weights);
    model_.parameters.push_back(as);
    return read_parameter(program(), as.array);
  }

  /// A weight, or with one dim that of a norm.
  ArrayId parameter(const std::string& name, const std::string& checkpoint_name, const std::vector<std::string>& dims,
                    int input_dims = 0) {
    const bool is_norm = dims.size() == 1;
    return add_as({.checkpoint_name = checkpoint_name,
                   .input_dims = input_dims,
                   .initial_mean = is_norm ? 1.0 : 0.0,
                   .initial_deviation = is_norm ? 0.0 : config_.initializer_range,
                   .decays = !is_norm},
                  name, dims);
  }

  /// `x`, an input of attention, with its bias if there are biases. `which` is q, k or v; `dims` are those of the bias.
  ArrayId with_bias(ArrayId x, const std::string& which, const std::vector<std::string>& dims) {
    if (!config_.qkv_biases) return x;
    const ArrayId b = add_as(
        {.checkpoint_name = fmt::format("{}self_attn.{}_proj.bias", prefix_, which), .flat = true, .decays = false},
        "b_" + which + number_, dims);
    return add_bias(program(), which + "b" + number_, x, b);
  }

  /// Queries or keys, turned by the positions of their tokens.
  ArrayId turned(const std::string& name, ArrayId x) {
    const ArrayId positions = options_.cache ? model_.cached.at : model_.positions;
    return rope(program(), name + number_, x, positions, config_.rope_theta, config_.rope_scaling, starts_);
  }

  ArrayId add_layer(int layer, ArrayId x) {
    program().region = {Pass::forward, layer};
    number_ = std::to_string(layer);
    prefix_ = fmt::format("model.layers.{}.", layer - 1);
    const ArrayId attended = add(program(), "h" + number_, {x, add_attention(x)}, Role::stream);
    const ArrayId fed = config_.experts.count > 0 ? add_experts(attended) : add_mlp(attended);
    return add(program(), "x" + number_, {attended, fed}, Role::stream);
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
    const ArrayId q = with_bias(einsum(p, "q" + n, {y, w_q}, {"B", "T", "K", "G", "H"}), "q", {"K", "G", "H"});
    const ArrayId k = with_bias(einsum(p, "k" + n, {y, w_k}, {"B", "T", "K", "H"}), "k", {"K", "H"});
    const ArrayId v = with_bias(einsum(p, "v" + n, {y, w_v}, {"B", "T", "K", "H"}), "v", {"K", "H"});
    const ArrayId q_turned = turned("qr", q);
    const ArrayId k_turned = turned("kr", k);
    const ArrayId o = options_.cache
                          ? attend_by_cache(q_turned, k_turned, v)
                          : attention(p, "o" + n, q_turned, k_turned, v, model_.positions, starts_, balanced_);
    return einsum(p, "a" + n, {o, w_o}, {"B", "T", "D"});
  }

  /// The inputs that say where tokens and places of caches stand.
  void add_cache_inputs(Index tokens) {
    program().sizes["S"] = options_.cache->places;
    model_.cached.at = program().add_input("at", {"B", "T"}, Role::positions);
    model_.cached.where = program().add_input("where", {"S"}, Role::positions);
    if (tokens == 1) return;
    model_.cached.last = program().add_input("last", {"B", "T"}, Role::positions);
  }

  DType cache_type() { return options_.cache->dtype.value_or(program().dtype); }

  /// The cache of this layer with what `values` add to it.
  ArrayId written(const std::string& name, ArrayId values) {
    Program& p = program();
    const ArrayId cache = p.add_input(name + number_, {"B", "S", "K", "H"}, Role::cache);
    p.array(cache).dtype = cache_type();
    model_.cached.caches.push_back(cache);
    const ArrayId stored = in_type(values, cache_type());
    return write_at(p, name + number_ + "'", cache, stored, model_.cached.at, model_.cached.where);
  }

  /// Attention of tokens over all tokens of their sequences so far. Keys and values go into the caches.
  ArrayId attend_by_cache(ArrayId q, ArrayId k, ArrayId v) {
    const ArrayId keys = written("Kc", k);
    const ArrayId values = written("Vc", v);
    const std::string name = "o" + number_;
    if (options_.cache->fresh) return attention(program(), name, q, k, v, model_.positions);
    const ArrayId o =
        cache_attention(program(), name, in_type(q, cache_type()), keys, values, model_.cached.at, model_.cached.where,
                        {.split_places = options_.cache->split_places, .seen = options_.cache->seen});
    return in_type(o, program().dtype);
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

  /// The sizes of arrays with experts: E of their weights, R of the router; both count them, and strategies split E
  /// alone. J choices a token, C places for each expert and sequence.
  void add_expert_sizes(const BatchShape& batch) {
    const Experts& experts = config_.experts;
    const auto tokens = static_cast<double>(batch.tokens);
    const double even = tokens * static_cast<double>(experts.chosen) / static_cast<double>(experts.count);
    constexpr double kRounding = 1e-12;  // 1.1 times 50 is no more than 55
    const double places = std::min(tokens, std::ceil(batch.capacity * even * (1 - kRounding)));
    program().sizes["E"] = program().sizes["R"] = experts.count;
    program().sizes["J"] = experts.chosen;
    program().sizes["C"] = batch.capacity > 0 ? static_cast<Index>(places) : batch.tokens;
  }

  /// A weight of every expert, stored as a tensor for each.
  ArrayId expert_weight(const std::string& name, const std::string& checkpoint_name,
                        const std::vector<std::string>& dims) {
    return add_as({.checkpoint_name = prefix_ + "block_sparse_moe.experts.{}." + checkpoint_name,
                   .input_dims = 1,
                   .by_expert = true,
                   .initial_deviation = config_.initializer_range},
                  name + number_, dims);
  }

  /// The experts of one layer: the term that they add to the residual stream (book section 4.4.1).
  ArrayId add_experts(ArrayId h) {
    Program& p = program();
    const std::string& n = number_;
    const ArrayId w_norm = parameter("w_mlp" + n, prefix_ + "post_attention_layernorm.weight", {"D"});
    const ArrayId w_router = parameter("W_router" + n, prefix_ + "block_sparse_moe.gate.weight", {"D", "R"}, 1);
    const ArrayId w_gate = expert_weight("W_gate", "w1.weight", {"E", "D", "F"});
    const ArrayId w_up = expert_weight("W_up", "w3.weight", {"E", "D", "F"});
    const ArrayId w_down = expert_weight("W_down", "w2.weight", {"E", "F", "D"});
    const ArrayId y = rms_norm(p, "n" + n, h, w_norm, config_.rms_eps);
    const ArrayId scores = einsum(p, "r" + n, {y, w_router}, {"B", "T", "R"});
    const ArrayId probs = softmax(p, "probs" + n, in_type(scores, sum_type(p.dtype)));
    ExpertRouting routing = top_k(p, "gate" + n, probs);
    slots(p, "slot" + n, routing, model_.positions);
    if (options_.balance_parts > 0 && config_.experts.balance > 0) {
      const double weight = config_.experts.balance / static_cast<double>(config_.layers);
      model_.balance.push_back(balance_loss(p, "balance" + n, probs, routing.load, weight, options_.balance_parts));
    }
    const RoutedCounts counts = expert_load(p, "routed" + n, routing);
    model_.routed.push_back(counts.routed);
    model_.dropped.push_back(counts.dropped);
    model_.closest.push_back(closest_choice(p, "closest" + n, probs, routing));
    const ArrayId xs = dispatch(p, "xs" + n, y, routing);
    const ArrayId g = expert_product(p, "g" + n, xs, w_gate, routing.taken);
    const ArrayId u = expert_product(p, "u" + n, xs, w_up, routing.taken);
    const ArrayId s = expert_gate(p, "s" + n, g, u, routing.taken);
    return combine(p, "d" + n, expert_product(p, "ys" + n, s, w_down, routing.taken), routing);
  }

  /// `x`, cast if it has another type.
  ArrayId in_type(ArrayId x, DType type) {
    const std::string name = program().array(x).name;
    return program().array(x).dtype == type ? x : cast(program(), fmt::format("{}.{}", name, name_of(type)), x, type);
  }

  const TransformerConfig& config_;
  ForwardOptions options_;
  bool balanced_;
  Model model_;
  ArrayId starts_ = -1;  ///< see Model::samples
  std::string number_;   ///< layer number, from 1
  std::string prefix_;   ///< prefix of the layer's names in a checkpoint, from 0
};

}  // namespace

Model make_forward(const TransformerConfig& config, const BatchShape& batch, const ForwardOptions& options) {
  return Forward(config, batch, options).build();
}

}  // namespace shardline
