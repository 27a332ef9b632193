// Mixtures of experts: sections 4.4.1 and 7.5, and exercises 4.7, 4.8, 7.5 and 7.6.

#include <cmath>

#include "models/architecture/accounting.h"
#include "models/architecture/known_models.h"
#include "models/planning/closed_form.h"
#include "roofline/machine/catalogue.h"
#include "roofline/price/bounds.h"
#include "tools/book/book_rows.h"

namespace shardline::tools {
namespace {

using Names = std::vector<std::pair<std::string, double>>;
using roofline::Chip;
using roofline::chip_named;

/// FLOPs for a byte of a v5e's memory, rounded as in section 1: 240.
double rounded_intensity() { return std::floor(chip_named("v5e").matmul.value / 8.2e11); }

/// All sizes of DeepSeek-v3. Of its L layers the first l have an MLP of G.
Names deepseek_names() {
  return {{"V", 129280}, {"D", 7168}, {"L", 61}, {"N", 128},   {"H", 128},  {"R", 64},
          {"q", 1536},   {"c", 512},  {"l", 3},  {"G", 18432}, {"F", 2048}, {"E", 256}};
}

/// The weights of DeepSeek-v3 with so many experts a layer, and one for every token.
std::string deepseek_formula(const std::string& experts) {
  return "2 V D + D + L (2 D + q + c + q D + q N (H + R) + (c + R) D + 2 c N H + N H D) + 3 l D G + (L - l) (3 (" +
         experts + " + 1) D F + E D)";
}

}  // namespace

std::vector<BookRow> expert_rows() {
  const Chip& v5p = chip_named("v5p");
  const roofline::ChipRates rates{v5p.matmul, v5p.link * 2};
  const TransformerConfig mixtral = sizes_of_model("mixtral-8x7b");
  TransformerConfig dense = mixtral;
  dense.experts = {};
  const double tokens = 4e6;
  const double d = 4096;
  const auto chosen = static_cast<double>(mixtral.experts.chosen);
  const roofline::TwoProducts layer{tokens, d, chosen * 14336, 4, chosen};
  const roofline::LayerTime time = expert_time(layer, rates, {1, 8, 1, true}, roofline::CountedPasses::forward);
  const Seconds gather = Bytes(2 * chosen * tokens * d) / rates.link;
  const auto all = static_cast<double>(parameter_parts(mixtral).experts);
  const auto active = static_cast<double>(active_parameter_parts(mixtral).experts);
  const auto once = static_cast<double>(parameter_parts(dense).feed_forward);
  return {{.section = "4.4.1",
           .quantity = "weights of MLPs with E=8 experts (Mixtral 8x7B), of one alone",
           .formula = "3 E D F L / (3 D F L)",
           .names = {{"E", 8}, {"D", d}, {"F", 14336}, {"L", 32}},
           .value = all / once,
           .unit = "",
           .verdict = Verdict::exercise,
           .note = "the book says O(E)"},
          {.section = "4.4.1",
           .quantity = "weights that a token passes, k=2 of 8 experts, of one alone",
           .formula = "3 k D F L / (3 D F L)",
           .names = {{"k", chosen}, {"D", d}, {"F", 14336}, {"L", 32}},
           .value = active / once,
           .unit = "",
           .book = "2"},
          {.section = "4.4.1",
           .quantity = "AllToAll / AllGather of the tokens of experts, one axis",
           .formula = "(2 k B D / 4 / W) / (2 k B D / W)",
           .names = {{"k", chosen}, {"B", tokens}, {"D", d}, {"W", rates.link.value}},
           .value = time.routing / 2 / gather,
           .unit = "",
           .book = "0.25",
           .note = "a layer has two AllToAlls in each pass; exercise 3.10 derives the quarter"}};
}

std::vector<BookRow> deepseek_rows() {
  const TransformerConfig model = sizes_of_model("deepseek-v3");
  const auto experts = static_cast<double>(model.experts.count);
  const auto chosen = static_cast<double>(model.experts.chosen);
  const Flops needed(6 * 37e9 * 14.8e12);
  const FlopsPerSecond h800(1.513e15);
  const Seconds hours(2.79e6 * 3600);
  const double intensity = rounded_intensity();
  Names active = deepseek_names();
  active.emplace_back("k", chosen);
  return {{.section = "4.7ex",
           .quantity = "parameters of DeepSeek-v3",
           .formula = deepseek_formula("E"),
           .names = deepseek_names(),
           .value = static_cast<double>(parameter_count(model)),
           .unit = "",
           .verdict = Verdict::exercise,
           .note = "published: 671e9"},
          {.section = "4.7ex",
           .quantity = "of these, activated for a token",
           .formula = deepseek_formula("k"),
           .names = active,
           .value = static_cast<double>(active_parameter_count(model)),
           .unit = "",
           .book = "37e9",
           .note = "with the embedding; 8 of 256 experts a layer, and one for every token"},
          {.section = "4.7ex",
           .quantity = "utilisation of DeepSeek-v3's training",
           .formula = "6 N T / (C * 3600 h)",
           .names = {{"N", 37e9}, {"T", 14.8e12}, {"C", h800.value}, {"h", 2.79e6}},
           .value = needed / h800 / hours,
           .unit = "%",
           .book = "21.7"},
          {.section = "4.8ex",
           .quantity = "critical batch of its experts, 8 of 256, int8 weights",
           .formula = "a / 2 E / k",
           .names = {{"a", intensity}, {"E", experts}, {"k", chosen}},
           .value = roofline::least_batch(intensity, Bytes(1), experts / chosen),
           .unit = "tokens",
           .book = "3840",
           .note = "a is the intensity of a v5e, as rounded in section 1"}};
}

std::vector<BookRow> expert_exercises(const TransformerConfig& dense) {
  const Chip& v5e = chip_named("v5e");
  TransformerConfig model = dense;
  model.experts = {.count = 16, .chosen = 2};
  const double intensity = rounded_intensity();
  const auto parameters = static_cast<double>(parameter_count(model));
  const Bytes of_chip = weights_of_chip(model, Bytes(1), 8, 16);
  Index slice = 1;
  while (weights_of_chip(model, Bytes(1), static_cast<double>(slice), 1) > v5e.capacity) slice *= 2;
  const Names sizes = {{"L", 64}, {"D", 4096}, {"F", 16384}, {"H", 256}, {"N", 32}, {"K", 8}, {"V", 32128}, {"E", 16}};
  const auto with = [&](const Names& more) {
    Names names = sizes;
    names.insert(names.end(), more.begin(), more.end());
    return names;
  };
  const std::string weights = "L D (3 E F + 2 H (N + K) + E + 2) + D V + D";
  const std::string held = "(L D (3 E F / Z + 2 H (N + K) + E + 2) + D V + D) / Y";
  const std::string mesh = "E=16 on a v5e 8x16, experts over Z=16, all over Y=8, int8: ";
  return {{.section = "7.5ex",
           .quantity = "parameters of the model of section 7.5 with E=16",
           .formula = weights,
           .names = sizes,
           .value = parameters,
           .unit = "",
           .verdict = Verdict::exercise,
           .note = "the router has E D a layer"},
          {.section = "7.5ex",
           .quantity = "batch from which its experts are compute-bound, k=2, int8 weights",
           .formula = "a / 2 E / k",
           .names = {{"a", intensity}, {"E", 16}, {"k", 2}},
           .value = roofline::least_batch(intensity, Bytes(1), 16.0 / 2),
           .unit = "tokens",
           .verdict = Verdict::exercise,
           .note = "a is the intensity of a v5e, as rounded in section 1"},
          {.section = "7.5ex",
           .quantity = "KV cache of a token of the model with E=16, int8",
           .formula = "2 L K H",
           .names = {{"L", 64}, {"K", 8}, {"H", 256}},
           .value = kv_cache_per_token(model, Bytes(1)).value,
           .unit = "B",
           .verdict = Verdict::exercise,
           .note = "as without experts"},
          {.section = "7.5ex",
           .quantity = "FLOPs of a forward pass for a token, k=2, without attention's own",
           .formula = "2 (L D (3 k F + 2 H (N + K) + E + 2) + D V + D)",
           .names = with({{"k", 2}}),
           .value = token_flops(model, 1).products.value / 3,
           .unit = "FLOP",
           .verdict = Verdict::exercise,
           .note = "of T tokens: T times as many, and 4 L T^2 N H for attention"},
          {.section = "7.6ex",
           .quantity = mesh + "loading the weights",
           .formula = held + " / W",
           .names = with({{"Z", 16}, {"Y", 8}, {"W", v5e.memory.value}}),
           .value = (of_chip / v5e.memory).value,
           .unit = "ms",
           .verdict = Verdict::exercise,
           .note = "all weights but the experts lie on every Z; spread over them too it is 2.04 ms"},
          {.section = "7.6ex",
           .quantity = mesh + "memory that is left",
           .formula = "M - " + held,
           .names = with({{"Z", 16}, {"Y", 8}, {"M", v5e.capacity.value}}),
           .value = (v5e.capacity - of_chip).value,
           .unit = "GB",
           .verdict = Verdict::exercise},
          {.section = "7.6ex",
           .quantity = "the smallest slice of v5e that holds its weights, int8",
           .formula = "2^ceil(log2((" + weights + ") / M))",
           .names = with({{"M", v5e.capacity.value}}),
           .value = static_cast<double>(slice),
           .unit = "chips",
           .verdict = Verdict::exercise,
           .note = "4x4; they fill 13.2 chips"}};
}

}  // namespace shardline::tools
