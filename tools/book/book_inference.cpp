// Section 7: inference.

#include <fmt/format.h>

#include "models/architecture/accounting.h"
#include "models/architecture/known_models.h"
#include "models/planning/generation_frontier.h"
#include "roofline/price/bounds.h"
#include "tools/book/book_rows.h"

namespace shardline::tools {
namespace {

using roofline::chip_named;

constexpr double kSectionMemory = 8.2e11;  // bytes a second of v5e, in sections 7.1.3 and 7.1.7

GenerationChip v5e_with(double memory) {
  GenerationChip chip = generation_chip(chip_named("v5e"));
  chip.memory = BytesPerSecond(memory);
  return chip;
}

/// Section 7.1.3: types of weights and of products.
std::vector<BookRow> batches_by_type() {
  struct Types {
    std::string words;
    double weight;
    FlopsPerSecond compute;
    std::string book;
  };
  const roofline::Chip& v5e = chip_named("v5e");
  std::vector<BookRow> rows;
  for (const Types& types :
       {Types{"bf16", 2, v5e.matmul, "240"}, Types{"int8 weights, products in bf16", 1, v5e.matmul, "120"},
        Types{"int8, products in int8", 1, v5e.int8, "240"}}) {
    const GenerationChip chip{types.compute, BytesPerSecond(kSectionMemory), {}};
    rows.push_back({.section = "7.1.3",
                    .quantity = "critical batch on v5e, " + types.words,
                    .formula = "C w / (2 W)",
                    .names = {{"C", types.compute.value}, {"w", types.weight}, {"W", kSectionMemory}},
                    .value = critical_batch({.parameters = 1, .weights = Bytes(types.weight)}, chip),
                    .unit = "tokens",
                    .book = types.book});
  }
  return rows;
}

constexpr const char* kStepFormula = "B k / (n W) + max(2 B N / (n C), P / (n W))";

/// A step with caches of `cache` bytes.
BookRow step_row(const std::string& section, const std::string& quantity, const GenerationModel& model,
                 const GenerationChip& chip, const GenerationLoad& load, const std::string& book) {
  return {.section = section,
          .quantity = quantity,
          .formula = kStepFormula,
          .names = {{"B", load.sequences},
                    {"k", model.cache_per_token.value * load.context},
                    {"n", load.chips},
                    {"W", chip.memory.value},
                    {"N", model.parameters},
                    {"C", chip.compute.value},
                    {"P", model.weights.value}},
          .value = decode_step(model, chip, load).time().value,
          .unit = "ms",
          .book = book};
}

/// Section 7.1.5: 30e9 weights in int8, caches of 100 kB a token.
std::vector<BookRow> pop_quiz() {
  const GenerationModel model{.parameters = 30e9, .weights = Bytes(30e9), .cache_per_token = Bytes(819e6)};
  std::vector<BookRow> rows;
  for (const auto& [batch, book] : {std::pair{4.0, "2.5"}, {256.0, "21"}}) {
    rows.push_back(step_row("7.1.5",
                            fmt::format("30e9 int8 weights, 16 v5e, caches of 819 MB: step of batch {}", batch), model,
                            generation_chip(chip_named("v5e")), {.chips = 16, .sequences = batch, .context = 1}, book));
  }
  return rows;
}

/// LLaMA-2 13B in bf16; with a fifth of the key-value heads, but as many parameters.
GenerationModel llama2_generation(bool grouped) {
  const TransformerConfig config = sizes_of_model("llama2-13b");
  GenerationModel model = generation_model(config, Bytes(2), Bytes(2));
  if (grouped) model.cache_per_token = model.cache_per_token / 5;
  return model;
}

/// Sections 7.1.6 and 7.1.7: steps and throughput on 8 v5e, caches of 8192 tokens.
std::vector<BookRow> llama2_step_rows() {
  struct Figure {
    double batch;
    const char* step;
    const char* throughput;
  };
  const std::vector<std::vector<Figure>> tables = {{{1, "4.98", "200.61"},
                                                    {8, "12.13", "659.30"},
                                                    {16, "20.30", "787.99"},
                                                    {32, "36.65", "873.21"},
                                                    {64, "69.33", "923.13"},
                                                    {240, "249.09", "963.53"}},
                                                   {{1, "4.17", "239.94"},
                                                    {8, "5.60", "1429.19"},
                                                    {16, "7.23", "2212.48"},
                                                    {32, "10.50", "3047.62"},
                                                    {64, "17.04", "3756.62"},
                                                    {240, "52.99", "4529.34"}}};
  const GenerationChip chip = v5e_with(kSectionMemory);
  std::vector<BookRow> steps;
  std::vector<BookRow> throughputs;
  for (const bool grouped : {false, true}) {
    const GenerationModel model = llama2_generation(grouped);
    const std::string words =
        fmt::format("LLaMA-2 13B, 8 v5e, caches of {:.3g} GB: ", model.cache_per_token.value * 8192 / 1e9);
    for (const Figure& figure : tables[grouped ? 1 : 0]) {
      const GenerationLoad load{.chips = 8, .sequences = figure.batch, .context = 8192};
      steps.push_back(
          step_row("7.1.7", fmt::format("{}step of batch {}", words, figure.batch), model, chip, load, figure.step));
      BookRow row = steps.back();
      row.quantity = fmt::format("{}tokens/s of batch {}", words, figure.batch);
      row.formula = fmt::format("B / ({})", kStepFormula);
      row.value = figure.batch / decode_step(model, chip, load).time().value;
      row.unit = "tokens/s";
      row.book = figure.throughput;
      throughputs.push_back(row);
    }
  }
  steps[0].note = "HBM at 8.2e11 B/s in this section";
  steps[6].note = "a fifth of the key-value heads, as many parameters";
  steps.insert(steps.end(), throughputs.begin(), throughputs.end());
  return steps;
}

std::vector<BookRow> llama2_memory_rows() {
  const GenerationModel model = llama2_generation(false);
  const GenerationChip chip = v5e_with(kSectionMemory);
  return {{.section = "7.1.6",
           .quantity = "LLaMA-2 13B: a cache of 8192 tokens, bf16",
           .formula = "2 w L K H S",
           .names = {{"w", 2}, {"L", 40}, {"K", 40}, {"H", 128}, {"S", 8192}},
           .value = model.cache_per_token.value * 8192,
           .unit = "GB",
           .book = "6.7"},
          {.section = "7.1.7",
           .quantity = "LLaMA-2 13B: caches of 8192 tokens that fit on 8 v5e",
           .formula = "floor((n M - P) / k)",
           .names = {{"n", 8},
                     {"M", chip.capacity.value},
                     {"P", model.weights.value},
                     {"k", model.cache_per_token.value * 8192}},
           .value = most_sequences(model, chip, 8, 8192),
           .unit = "",
           .book = "16",
           .verdict = Verdict::slip,
           .note = "16 take 133.2 GB in the book's own table, of 128"}};
}

/// The invented model of section 7.5; input and output projections are shared.
TransformerConfig made_up_model() {
  return {.vocab = 32128,
          .d_model = 4096,
          .layers = 64,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 256,
          .d_ff = 16384,
          .tied = true};
}

std::vector<BookRow> made_up_model_rows() {
  const GenerationModel model = generation_model(made_up_model(), Bytes(1), Bytes(1));
  return {{.section = "7.1ex",
           .quantity = "parameters of the model of section 7.5",
           .formula = "L D (3 F + 2 H (N + K) + 2) + D V + D",
           .names = {{"L", 64}, {"D", 4096}, {"F", 16384}, {"H", 256}, {"N", 32}, {"K", 8}, {"V", 32128}},
           .value = model.parameters,
           .unit = "",
           .book = "18.4e9"},
          {.section = "7.1ex",
           .quantity = "KV cache of a token of the model of section 7.5, int8",
           .formula = "2 L K H",
           .names = {{"L", 64}, {"K", 8}, {"H", 256}},
           .value = model.cache_per_token.value,
           .unit = "B",
           .verdict = Verdict::exercise}};
}

/// Exercises 7.2 to 7.4: the model on a v5e 4x4, everything in int8.
std::vector<BookRow> made_up_model_served() {
  const GenerationChip chip = generation_chip(chip_named("v5e"));
  TransformerConfig config = made_up_model();
  const GenerationModel model = generation_model(config, Bytes(1), Bytes(1));
  std::vector<BookRow> rows;
  for (const Index kv_heads : {8, 1}) {
    config.kv_heads = kv_heads;
    const GenerationModel each = generation_model(config, Bytes(1), Bytes(1));
    rows.push_back({.section = "7.2ex",
                    .quantity = fmt::format("caches of 8192 tokens that fit on a v5e 4x4, K = {}", kv_heads),
                    .formula = "floor((n M - N) / (2 L K H S))",
                    .names = {{"n", 16},
                              {"M", chip.capacity.value},
                              {"N", each.parameters},
                              {"L", 64},
                              {"K", static_cast<double>(kv_heads)},
                              {"H", 256},
                              {"S", 8192}},
                    .value = most_sequences(each, chip, 16, 8192),
                    .unit = "",
                    .verdict = Verdict::exercise});
  }
  const DecodeStep step = decode_step(model, chip, {.chips = 16, .sequences = 1, .context = 8192});
  rows.push_back({.section = "7.3ex",
                  .quantity = "reading all parameters on a v5e 4x4",
                  .formula = "N / (n W)",
                  .names = {{"N", model.parameters}, {"n", 16}, {"W", chip.memory.value}},
                  .value = step.parameters.value,
                  .unit = "ms",
                  .verdict = Verdict::exercise});
  return rows;
}

std::vector<BookRow> made_up_model_sharded() {
  const roofline::Chip& v5e = chip_named("v5e");
  const GenerationLinks links = generation_links(v5e);
  const GenerationModel model = generation_model(made_up_model(), Bytes(1), Bytes(1));
  const GenerationLoad load{.chips = 16, .sequences = 110, .context = 8192};
  BookRow step =
      step_row("7.4ex", "step of 110 caches of 8192 tokens on a v5e 4x4", model, generation_chip(v5e), load, "");
  step.verdict = Verdict::exercise;
  step.note = "K = 8 heads split caches 8 ways, sequences the other 2";
  return {{.section = "7.4ex",
           .quantity = "tensor parallelism over both axes of v5e is bound by ICI above",
           .formula = "M F w / C",
           .names = {{"M", links.torus_axes}, {"F", 16384}, {"w", links.link.value}, {"C", v5e.matmul.value}},
           .value = roofline::most_tensor_chips(v5e.matmul.value / links.link.value, 16384, links.torus_axes,
                                                roofline::CountedPasses::forward),
           .unit = "chips",
           .verdict = Verdict::exercise},
          step};
}

std::vector<BookRow> inference_limits() {
  const roofline::Chip& v5e = chip_named("v5e");
  const GenerationLinks links = generation_links(v5e);
  const DecodeLayer plain{.d_model = 1, .d_ff = 4, .up_products = 1};
  const GenerationLinks three_axes{.torus_axes = 3};
  return {{.section = "7.3.2",
           .quantity = "F = 16384, batch 32: moving takes longer than reading bf16 weights above",
           .formula = "F / (B (W / w))",
           .names = {{"F", 16384}, {"B", 32}, {"W", v5e.memory.value}, {"w", links.link.value}},
           .value = most_chips_by_memory(16384, Bytes(2), 32, v5e.memory, links),
           .unit = "chips",
           .book = "64",
           .verdict = Verdict::rounding,
           .rounded = 16384.0 / (32 * 8),
           .note = "from W / w = 8"},
          {.section = "7.6.3",
           .quantity = "8-way Megatron on v5e is bound by latency for buffers below",
           .formula = "Y w t",
           .names = {{"Y", 8}, {"w", v5e.link.value}, {"t", links.hop.value}},
           .value = latency_bound_bytes(8, v5e.link, links.hop).value,
           .unit = "kB",
           .book = "360"},
          {.section = "7.7ex",
           .quantity = "2D weight-stationary beats 1D for N above, F = 4 D",
           .formula = "2 M^2 (g + 1) r / (M - 1)",
           .names = {{"M", 3}, {"g", 1}, {"r", 4}},
           .value = *least_chips_for_two_axes(plain, three_axes),
           .unit = "chips",
           .book = "81",
           .verdict = Verdict::slip,
           .note = "128 (3/4)^2, as the book writes, is 72"}};
}

}  // namespace

std::vector<BookRow> inference_rows() {
  std::vector<BookRow> rows;
  for (const auto& some :
       {batches_by_type(), pop_quiz(), llama2_memory_rows(), llama2_step_rows(), made_up_model_rows(),
        made_up_model_served(), made_up_model_sharded(), expert_exercises(made_up_model()), inference_limits()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace shardline::tools
