// Exercises 8.1 to 8.3.

#include "models/architecture/known_models.h"
#include "models/planning/generation_frontier.h"
#include "tools/book/book_rows.h"
#include "tools/book/served_llama.h"

namespace shardline::tools {
namespace {

using roofline::chip_named;

/// Exercise 8.1: LLaMA-3 405B, of one chip; N chips take an Nth.
std::vector<BookRow> exercise_1() {
  const GenerationModel model = generation_model(sizes_of_model("llama3-405b"), Bytes(2), Bytes(1));
  const GenerationChip v5e = served_v5e();
  const DecodeStep step = decode_step(model, v5e, {.chips = 1, .sequences = 1});
  return {{.section = "8.1ex",
           .quantity = "LLaMA-3 405B: FLOPs of a forward pass for each token",
           .formula = "2 N",
           .names = {{"N", model.parameters}},
           .value = step.flops.value * v5e.compute.value,
           .unit = "FLOP",
           .verdict = Verdict::exercise},
          {.section = "8.1ex",
           .quantity = "LLaMA-3 405B: a token on a v5e, bound by FLOPs; N chips take an Nth",
           .formula = "2 N / C",
           .names = {{"N", model.parameters}, {"C", v5e.compute.value}},
           .value = step.flops.value,
           .unit = "ms",
           .verdict = Verdict::exercise},
          {.section = "8.1ex",
           .quantity = "LLaMA-3 405B: a step on a v5e, bound by reading bf16 weights; N chips take an Nth",
           .formula = "2 N / W",
           .names = {{"N", model.parameters}, {"W", v5e.memory.value}},
           .value = step.parameters.value,
           .unit = "s",
           .verdict = Verdict::exercise}};
}

/// Exercise 8.2: LLaMA-3 8B, all in int8, 240 sequences of 8192 tokens.
std::vector<BookRow> exercise_2() {
  const TransformerConfig config = sizes_of_model("llama3-8b");
  const GenerationModel model = generation_model(config, Bytes(1), Bytes(1));
  const GenerationChip v5e = served_v5e();
  const GenerationLoad load{.sequences = 240, .context = kServedContext};
  const Bytes caches = model.cache_per_token * (240 * kServedContext);
  const DecodeLayer layer = decode_layer(config);
  const auto row = [](const std::string& quantity, const std::string& formula, double value, const std::string& unit) {
    return BookRow{.section = "8.2ex",
                   .quantity = quantity,
                   .formula = formula,
                   .names = {},
                   .value = value,
                   .unit = unit,
                   .verdict = Verdict::exercise};
  };
  std::vector<BookRow> rows = {
      row("LLaMA-3 8B in int8: parameters", "w N", model.weights.value, "GB"),
      row("LLaMA-3 8B in int8: 240 caches of 8192 tokens", "2 b S K H L", caches.value, "GB"),
      row("LLaMA-3 8B: activations of a layer at their peak, its two products up in bf16", "2 g b F",
          2 * layer.up_products * 240 * layer.d_ff, "MB"),
      row("LLaMA-3 8B in int8: the smallest slice of v5e for these", "2^ceil(log2((N + c) / M))",
          static_cast<double>(least_slice(model, v5e, load)), "chips")};
  rows[0].names = {{"w", 1}, {"N", model.parameters}};
  rows[1].names = {{"b", 240}, {"S", kServedContext}, {"K", 8}, {"H", 128}, {"L", 32}};
  rows[2].names = {{"g", 2}, {"b", 240}, {"F", 14336}};
  rows[3].names = {{"N", model.weights.value}, {"c", caches.value}, {"M", v5e.capacity.value}};
  return rows;
}

/// Exercise 8.3: LLaMA-3 405B on v5e within 15 ms, weights in int8, products in bf16, caches of 8192 tokens in int8.
std::vector<BookRow> exercise_3() {
  const TransformerConfig config = sizes_of_model("llama3-405b");
  const roofline::Chip& v5e = chip_named("v5e");
  const FrontierQuery query{.model = generation_model(config, Bytes(1), Bytes(1)),
                            .layer = decode_layer(config),
                            .chip = generation_chip(v5e),
                            .links = generation_links(v5e),
                            .context = kServedContext};
  const double n = query.model.parameters;
  const std::optional<FrontierPoint> best = best_within(query, {32, 64, 128, 256}, 1024, Seconds(15e-3));
  const double cache = query.model.cache_per_token.value * kServedContext;
  const DecodeStep fastest = decode_step(query.model, query.chip, {.chips = 256, .sequences = 1});
  return {{.section = "8.3ex",
           .quantity = "LLaMA-3 405B, int8: v5e that read the weights within 15 ms, a power of two",
           .formula = "2^ceil(log2(N / (t W)))",
           .names = {{"N", n}, {"t", 15e-3}, {"W", v5e.memory.value}},
           .value = best->load.chips,
           .unit = "chips",
           .verdict = Verdict::exercise},
          {.section = "8.3ex",
           .quantity = "LLaMA-3 405B, int8: the batch from which on a chip makes most tokens",
           .formula = "ceil(C / (2 W))",
           .names = {{"C", v5e.matmul.value}, {"W", v5e.memory.value}},
           .value = best->load.sequences,
           .unit = "",
           .verdict = Verdict::exercise},
          {.section = "8.3ex",
           .quantity = "LLaMA-3 405B, int8: tokens/s of a chip with this batch",
           .formula = "1 / (2 N / C + k / W)",
           .names = {{"N", n}, {"C", v5e.matmul.value}, {"k", cache}, {"W", v5e.memory.value}},
           .value = best->tokens_per_chip(),
           .unit = "tokens/s",
           .verdict = Verdict::exercise,
           .note = "what moves takes 10.2 ms of 12.8 ms and hides"},
          {.section = "8.3ex",
           .quantity = "LLaMA-3 405B, int8: reading the weights on a whole pod of 256 v5e",
           .formula = "N / (n W)",
           .names = {{"N", n}, {"n", 256}, {"W", v5e.memory.value}},
           .value = fastest.parameters.value,
           .unit = "ms",
           .verdict = Verdict::exercise,
           .note = "the least step in theory; hops between chips take longer"}};
}

}  // namespace

std::vector<BookRow> serving_exercises() {
  std::vector<BookRow> rows;
  for (const auto& some : {exercise_1(), exercise_2(), exercise_3()}) rows.insert(rows.end(), some.begin(), some.end());
  return rows;
}

}  // namespace shardline::tools
