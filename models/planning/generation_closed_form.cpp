#include "models/planning/generation_closed_form.h"

#include <algorithm>
#include <cmath>

#include "models/architecture/accounting.h"
#include "roofline/price/bounds.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr double kForwardShare = 1.0 / 3;  // of the FLOPs of both passes
constexpr double kSecondsPerHour = 3600;
constexpr Index kMostChipsOfASlice = Index{1} << 30;

/// FLOPs of one query with what is cached of one token, in all layers: two products.
Flops attention_of_query(const TransformerConfig& config) {
  const LatentAttention& latent = config.latent;
  const Index keys = latent.cached > 0 ? latent.cached + latent.rope_dim : config.head_dim;
  const Index values = latent.cached > 0 ? latent.cached : config.head_dim;
  return Flops(static_cast<double>(2 * config.layers * config.heads * (keys + values)));
}

/// All chips as one.
GenerationChip whole_slice(const GenerationChip& chip, double chips) {
  return {chip.compute * chips, chip.memory * chips, chip.capacity * chips};
}

}  // namespace

GenerationModel generation_model(const TransformerConfig& config, Bytes weight, Bytes cache) {
  const ParameterParts parts = parameter_parts(config);
  const Experts& experts = config.experts;
  GenerationModel model{.parameters = static_cast<double>(active_parameter_count(config)),
                        .weights = weight * static_cast<double>(parts.total()),
                        .expert_weights = weight * static_cast<double>(parts.experts),
                        .cache_per_token = kv_cache_per_token(config, cache),
                        .attention = attention_of_query(config),
                        .prefill_attention = token_flops(config, 1).attention * kForwardShare};
  if (experts.count > 0) model.expert_share = static_cast<double>(experts.chosen) / static_cast<double>(experts.count);
  return model;
}

GenerationChip generation_chip(const roofline::Chip& chip) { return {chip.matmul, chip.memory, chip.capacity}; }

Seconds DecodeStep::time() const { return std::max(caches, attention) + std::max(flops, parameters); }

Bytes weights_read(const GenerationModel& model, double sequences) {
  const double unread = std::pow(1 - model.expert_share, sequences);
  return model.weights - model.expert_weights * unread;
}

DecodeStep decode_step(const GenerationModel& model, const GenerationChip& chip, const GenerationLoad& load) {
  require(load.sequences >= 1, "{} sequences: at least one generates", load.sequences);
  require(load.chips >= 1, "{} chips: at least one generates", load.chips);
  const GenerationChip all = whole_slice(chip, load.chips);
  const double cached = load.sequences * load.context;
  return {.parameters = weights_read(model, load.sequences) / all.memory,
          .caches = model.cache_per_token * cached / all.memory,
          .flops = Flops(2 * load.sequences * model.parameters) / all.compute,
          .attention = model.attention * cached / all.compute};
}

double critical_batch(const GenerationModel& model, const GenerationChip& chip) {
  return roofline::least_batch(chip.compute.value / chip.memory.value, model.weights / model.parameters, 1);
}

Bytes cache_room(const GenerationModel& model, const GenerationChip& chip, double chips) {
  return chip.capacity * chips - model.weights;
}

double most_sequences(const GenerationModel& model, const GenerationChip& chip, double chips, double context) {
  const Bytes room = cache_room(model, chip, chips);
  return room.value < 0 ? 0 : std::floor(room / (model.cache_per_token * context));
}

Index least_slice(const GenerationModel& model, const GenerationChip& chip, const GenerationLoad& load) {
  const Bytes needed = model.weights + model.cache_per_token * (load.sequences * load.context);
  Index chips = 1;
  while (chip.capacity * static_cast<double>(chips) < needed) {
    require(chips < kMostChipsOfASlice, "{} do not fit in {} chips of {}", to_string(needed), chips,
            to_string(chip.capacity));
    chips *= 2;
  }
  return chips;
}

Seconds PrefillTime::without_attention() const { return std::max(products, parameters); }

PrefillTime prefill_time(const GenerationModel& model, const GenerationChip& chip, const PrefillLoad& load) {
  require(load.utilisation > 0, "a utilisation of {}: more than 0", load.utilisation);
  const FlopsPerSecond reached = chip.compute * (load.chips * load.utilisation);
  const double pairs = load.tokens * (load.tokens + 1) / 2;
  return {.products = Flops(2 * model.parameters * load.tokens) / reached,
          .parameters = weights_read(model, load.tokens) / (chip.memory * load.chips),
          .attention = model.prefill_attention * pairs / reached};
}

double queries_per_chip(Seconds step, const GenerationLoad& load, double new_tokens) {
  return load.sequences / (step.value * new_tokens * load.chips);
}

double prefill_servers(Seconds prefill, Seconds step, double sequences, double new_tokens) {
  return prefill / step * sequences / new_tokens;
}

double evicted_tokens(double sequences, double prompt_tokens, double new_tokens) {
  return sequences * (prompt_tokens + new_tokens) / new_tokens;
}

double cost_per_million(double price_per_hour, double chips, Seconds time, double tokens) {
  constexpr double kMillion = 1e6;
  return price_per_hour * chips * time.value / kSecondsPerHour / tokens * kMillion;
}

}  // namespace shardline
