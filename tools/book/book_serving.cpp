// Section 8: serving LLaMA-3 70B.

#include <fmt/format.h>

#include "models/architecture/known_models.h"
#include "models/planning/generation_frontier.h"
#include "roofline/price/bounds.h"
#include "tools/book/book_rows.h"
#include "tools/book/served_llama.h"

namespace shardline::tools {
namespace {

using roofline::chip_named;

/// FLOPs for a dollar, by the book's prices of an hour.
std::vector<BookRow> price_rows() {
  std::vector<BookRow> rows;
  for (const auto& [name, price, book] :
       {std::tuple{"h100", 10.8, "3.3e17"}, {"v5p", 4.2, "3.9e17"}, {"v5e", 1.2, "5.8e17"}}) {
    const FlopsPerSecond compute = chip_named(name).matmul;
    const double hour = cost_per_million(price, 1, Seconds(1), 1e6);  // of a second
    rows.push_back({.section = "8.1",
                    .quantity = fmt::format("FLOPs for a dollar on {}", name),
                    .formula = "C 3600 / p",
                    .names = {{"C", compute.value}, {"p", price}},
                    .value = compute.value / hour,
                    .unit = "FLOP",
                    .book = book});
  }
  rows.back().verdict = Verdict::slip;
  rows.back().note = "1.97e14 in 3600 s for 1.20";
  return rows;
}

std::vector<BookRow> llama3_memory() {
  const GenerationModel model = served_llama3(Bytes(1));
  const Bytes token = model.cache_per_token;
  const Bytes all = model.weights + token * 32 * kServedContext;
  const Bytes long_caches = token * 32768 * 240;
  const GenerationChip v5e = served_v5e();
  return {{.section = "8.1",
           .quantity = "LLaMA-3 70B: KV cache of a token, int8",
           .formula = "2 K H L",
           .names = {{"K", 8}, {"H", 128}, {"L", 80}},
           .value = token.value,
           .unit = "KiB",
           .book = "160",
           .note = "the book's kB is 1024 B here"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: a cache of 32,768 tokens, int8",
           .formula = "S k",
           .names = {{"S", 32768}, {"k", token.value}},
           .value = (token * 32768).value,
           .unit = "GB",
           .book = "5.3"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: v5e that hold weights and 240 such caches, int8",
           .formula = "(N + b S k) / M",
           .names = {{"N", kServedParameters}, {"b", 240}, {"S", 32768}, {"k", token.value}, {"M", v5e.capacity.value}},
           .value = (model.weights + long_caches) / v5e.capacity,
           .unit = "chips",
           .book = "86",
           .verdict = Verdict::rounding,
           .rounded = (70e9 + 1.3e12) / 16e9,
           .note = "from 1.3 TB of caches"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: weights and 32 caches of 8192 tokens, int8",
           .formula = "N + b S k",
           .names = {{"N", kServedParameters}, {"b", 32}, {"S", kServedContext}, {"k", token.value}},
           .value = all.value,
           .unit = "GB",
           .book = "112"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: v5e that hold these",
           .formula = "M / m",
           .names = {{"M", all.value}, {"m", v5e.capacity.value}},
           .value = all / v5e.capacity,
           .unit = "chips",
           .book = "7"}};
}

/// Steps of batch 32, from the book's rounded figures.
std::vector<BookRow> llama3_steps() {
  const roofline::Chip& v5e = chip_named("v5e");
  const GenerationLinks links = generation_links(v5e);
  const Bytes rounded(112e9);
  const GenerationModel whole{.weights = rounded};
  const auto step = [&](double chips) {
    return decode_step(whole, served_v5e(), {.chips = chips, .sequences = 1}).time().value;
  };
  const GenerationLoad load{.chips = 8, .sequences = 32, .context = kServedContext};
  const double all = queries_per_chip(Seconds(0.017), {.chips = 1, .sequences = 32}, 1);
  return {{.section = "8.1",
           .quantity = "LLaMA-3 70B: a step of batch 32 on a v5e 4x2",
           .formula = "M / (n W)",
           .names = {{"M", rounded.value}, {"n", 8}, {"W", v5e.memory.value}},
           .value = step(8),
           .unit = "ms",
           .book = "17",
           .note = "of the 112 GB, rounded"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: a step of batch 32 on a v5e 4x4",
           .formula = "M / (n W)",
           .names = {{"M", rounded.value}, {"n", 16}, {"W", v5e.memory.value}},
           .value = step(16),
           .unit = "ms",
           .book = "8.5",
           .verdict = Verdict::rounding,
           .rounded = 17e-3 / 2,
           .note = "half of 17 ms"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: tokens/s of batch 32 at steps of 17 ms",
           .formula = "b / t",
           .names = {{"b", 32}, {"t", 0.017}},
           .value = all,
           .unit = "tokens/s",
           .book = "1882"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: the same, of each of 8 chips",
           .formula = "b / (t n)",
           .names = {{"b", 32}, {"t", 0.017}, {"n", 8}},
           .value = queries_per_chip(Seconds(0.017), load, 1),
           .unit = "tokens/s",
           .book = "235"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: tensor parallelism on two axes is bound by ICI above",
           .formula = "M F w / C",
           .names = {{"M", 2}, {"F", 28672}, {"w", links.link.value}, {"C", v5e.matmul.value}},
           .value = roofline::most_tensor_chips(v5e.matmul.value / links.link.value, 28672, 2,
                                                roofline::CountedPasses::forward),
           .unit = "chips",
           .book = "22",
           .verdict = Verdict::slip,
           .note = "the book takes C / w of v5p, 2550; that of v5e is 2189"}};
}

/// Section 8.1.2.
std::vector<BookRow> prefill_rows() {
  const GenerationChip v5e = served_v5e();
  const Seconds prefill(0.91);
  const PrefillTime time = prefill_time({.parameters = kServedParameters, .weights = Bytes(140e9)}, v5e,
                                        {.chips = 16, .tokens = 8192, .utilisation = 0.4});
  return {{.section = "8.1.2",
           .quantity = "prefill of 8192 tokens on 16 v5e at 40%",
           .formula = "2 N T / (n C u)",
           .names = {{"N", kServedParameters}, {"T", 8192}, {"n", 16}, {"C", v5e.compute.value}, {"u", 0.4}},
           .value = time.without_attention().value,
           .unit = "s",
           .book = "0.91"},
          {.section = "8.1.2",
           .quantity = "tokens that leave the caches in a step, batch 32, 8192 prefilled and 4096 new",
           .formula = "b (P + G) / G",
           .names = {{"b", 32}, {"P", 8192}, {"G", 4096}},
           .value = evicted_tokens(32, 8192, 4096),
           .unit = "tokens",
           .book = "96"},
          {.section = "8.1.2",
           .quantity = "prefill servers for one that generates, batch 32",
           .formula = "p b / (t m)",
           .names = {{"p", prefill.value}, {"b", 32}, {"t", kFullStep.value}, {"m", kServedTokens}},
           .value = prefill_servers(prefill, kFullStep, 32, kServedTokens),
           .unit = "",
           .book = "3"}};
}

/// Section 8.2: int8 weights and products in bf16 on a v5e 4x4, caches of 2048 tokens.
std::vector<BookRow> frontier_rows() {
  const GenerationModel model = served_llama3(Bytes(1));
  const GenerationChip chip{chip_named("v5e").matmul, BytesPerSecond(8.2e11), {}};
  const GenerationLoad load{.chips = 16, .sequences = 120, .context = 2048};
  return {{.section = "8.2",
           .quantity = "LLaMA-3 70B, int8, v5e 4x4: tokens/s of a chip, batch 120, caches of 2048",
           .formula = "b / (b S k / W + max(2 b N / C, N / W))",
           .names = {{"b", 120},
                     {"S", 2048},
                     {"k", model.cache_per_token.value},
                     {"W", chip.memory.value},
                     {"N", kServedParameters},
                     {"C", chip.compute.value}},
           .value = queries_per_chip(decode_step(model, chip, load).time(), load, 1),
           .unit = "tokens/s",
           .book = "1e3",
           .note = "about one a ms"}};
}

}  // namespace

GenerationChip served_v5e() { return generation_chip(chip_named("v5e")); }

GenerationModel served_llama3(Bytes element) {
  GenerationModel model = generation_model(sizes_of_model("llama3-70b"), element, element);
  model.parameters = kServedParameters;
  model.weights = element * kServedParameters;
  return model;
}

std::vector<BookRow> serving_rows() {
  std::vector<BookRow> rows;
  for (const auto& some : {price_rows(), llama3_memory(), llama3_steps(), throughput_rows(), prefill_rows(),
                           frontier_rows(), serving_exercises()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace shardline::tools
