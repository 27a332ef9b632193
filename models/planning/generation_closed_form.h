#pragma once

#include "models/architecture/config.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline {

// Closed forms of generation (book sections 7.1 and 8.1). Weights and caches are split evenly over all chips of a
// slice. Numbers of chips, sequences and tokens are real numbers, as in the book. What moves between chips is in
// generation_links.h.

/// What generation stores, reads and multiplies of a model.
struct GenerationModel {
  double parameters = 0;         ///< N: the weights that a token passes
  Bytes weights;                 ///< all weights, as they are stored
  Bytes expert_weights = {};     ///< the part of `weights` in experts of which a token passes a few
  double expert_share = 1;       ///< of these experts a token passes so many: k / E
  Bytes cache_per_token = {};    ///< keys and values of a token (section 4.4.3)
  Flops attention = {};          ///< of one new token with one token in a cache
  Flops prefill_attention = {};  ///< of one token of a prompt with one token before it
};

/// The model with weights of `weight` bytes and caches of `cache` bytes an element: 2 for bf16, 1 for int8, 0.5 for
/// int4. Latent attention multiplies queries with what is cached, as DeepSeek-V2 does in decode.
GenerationModel generation_model(const TransformerConfig& config, Bytes weight, Bytes cache);

/// The rates of a chip. `compute` is that of the type that multiplies, not of the type that is stored: weights in int8
/// are often multiplied in bf16 (section 7.1.3).
struct GenerationChip {
  FlopsPerSecond compute;
  BytesPerSecond memory;
  Bytes capacity = {};  ///< of the memory; 0: not known
};

/// A chip of the catalogue, which multiplies in bf16.
GenerationChip generation_chip(const roofline::Chip& chip);

/// What generates together.
struct GenerationLoad {
  double chips = 1;
  double sequences = 1;  ///< B, the batch
  double context = 0;    ///< tokens in each cache
};

/// The parts of a decode step: one token more for every sequence.
struct DecodeStep {
  Seconds parameters;      ///< reading weights
  Seconds caches;          ///< reading keys and values
  Seconds flops;           ///< products of the new tokens with weights: 2 B N
  Seconds attention = {};  ///< products of the new tokens with keys and values

  /// Section 7.1.5, equation 4: caches + max(flops, parameters). Attention's products hide behind the caches, except
  /// where they take longer.
  Seconds time() const;
  /// True if products with weights take longer than reading these.
  bool compute_bound() const { return flops > parameters; }
};

/// The weights that a batch reads in one step: all but those of experts that no token passes. Experts are chosen
/// independently and equally often, so a batch reads 1 - (1 - k / E)^B of them.
Bytes weights_read(const GenerationModel& model, double sequences);

/// Throws UsageError if there is not at least one chip and one sequence.
DecodeStep decode_step(const GenerationModel& model, const GenerationChip& chip, const GenerationLoad& load);

/// From so many sequences on products with weights take longer than reading all weights: 240 in bf16 on v5e, 120 with
/// weights in int8 (section 7.1.3).
double critical_batch(const GenerationModel& model, const GenerationChip& chip);

/// What the weights leave of the memory of all chips; negative if they do not fit. The working memory of a step is
/// not counted.
Bytes cache_room(const GenerationModel& model, const GenerationChip& chip, double chips);

/// The most sequences whose caches fit beside the weights, a whole number. 0 if the weights do not fit.
double most_sequences(const GenerationModel& model, const GenerationChip& chip, double chips, double context);

/// The smallest power of two of chips that holds the weights and the caches of a load; its `chips` are not read. With
/// 0 sequences: that holds the weights.
Index least_slice(const GenerationModel& model, const GenerationChip& chip, const GenerationLoad& load);

/// A prompt that is computed before its first new token.
struct PrefillLoad {
  double chips = 1;
  double tokens = 0;
  double utilisation = 1;  ///< share of the peak that is reached
};

struct PrefillTime {
  Seconds products;    ///< 2 N T (section 8.1.2)
  Seconds parameters;  ///< reading the weights once; it binds prompts of fewer tokens than the critical batch
  Seconds attention;   ///< every token with those before it; the book leaves it out

  Seconds without_attention() const;
  Seconds total() const { return without_attention() + attention; }
};

PrefillTime prefill_time(const GenerationModel& model, const GenerationChip& chip, const PrefillLoad& load);

/// Queries a second for each chip, of `new_tokens` steps each (section 8.1.1): B / (t m n).
double queries_per_chip(Seconds step, const GenerationLoad& load, double new_tokens);

/// Servers that prefill, of one prompt at a time, for each server that generates so that both are always busy (section
/// 8.1.2): p B / (t m).
double prefill_servers(Seconds prefill, Seconds step, double sequences, double new_tokens);

/// Tokens that leave the caches in a step, on average: B (P + G) / G (section 8.1.2).
double evicted_tokens(double sequences, double prompt_tokens, double new_tokens);

/// The price of a million tokens if so many chips make `tokens` tokens in `time`, in the currency of a chip's hour.
double cost_per_million(double price_per_hour, double chips, Seconds time, double tokens);

}  // namespace shardline
