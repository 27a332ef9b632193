// Sections 4 and 6: counting a Transformer, and LLaMA-3 70B.

#include <fmt/format.h>

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

constexpr Bytes kBf16{2};

/// The model of exercise 4.1: heads of 128 make up D, and none are shared.
std::vector<BookRow> counting_rows() {
  const TransformerConfig model{
      .vocab = 32000, .d_model = 4096, .layers = 64, .heads = 32, .kv_heads = 32, .head_dim = 128, .d_ff = 4 * 4096};
  const ParameterParts parts = parameter_parts(model);
  const auto attention = static_cast<double>(parts.attention);
  const auto feed_forward = static_cast<double>(parts.feed_forward);
  const double books_own = 64 * (3 * 4e3 * 16e3 + 4 * 4e3 * 4e3 + 4e3) + 2 * 4e3 * 32e3;
  return {{.section = "4.1ex",
           .quantity = "parameters of D=4096, F=4D, V=32000, L=64",
           .formula = "L (3 D F + 4 D^2 + 2 D) + 2 D V + D",
           .names = {{"L", 64}, {"D", 4096}, {"F", 16384}, {"V", 32000}},
           .value = static_cast<double>(parts.total()),
           .unit = "",
           .book = "16e9",
           .verdict = Verdict::rounding,
           .rounded = books_own,
           .note = "the book takes D = 4e3 and F = 16e3"},
          {.section = "4.1ex",
           .quantity = "share of attention in the layers, F=4D",
           .formula = "4 D^2 / (4 D^2 + 3 D F)",
           .names = {{"D", 4096}, {"F", 16384}},
           .value = attention / (attention + feed_forward),
           .unit = "",
           .book = "0.25"},
          {.section = "4.1ex",
           .quantity = "KV cache of a token, D=4096, L=64, int8",
           .formula = "2 L D",
           .names = {{"L", 64}, {"D", 4096}},
           .value = kv_cache_per_token(model, Bytes(1)).value,
           .unit = "KiB",
           .book = "512",
           .note = "the book's kB is 1024 B here"},
          {.section = "4.5ex",
           .quantity = "T at which attention takes the FLOPs of its projections, D=4096",
           .formula = "6 L (4 D^2) / (12 L D)",
           .names = {{"L", 64}, {"D", 4096}},
           .value = 6 * attention / token_flops(model, 1).attention.value,
           .unit = "tokens",
           .book = "8192",
           .note = "2 D"}};
}

/// Section 4.3: from which T on dot-product attention takes most FLOPs. Layers with D = N H, N = K and F = 4 D.
BookRow dominant_attention(Index d) {
  const TransformerConfig model{
      .vocab = 1, .d_model = d, .layers = 1, .heads = d / 128, .kv_heads = d / 128, .head_dim = 128, .d_ff = 4 * d};
  const ParameterParts parts = parameter_parts(model);
  const auto products = static_cast<double>(6 * (parts.feed_forward + parts.attention));
  return {.section = "4.3",
          .quantity = fmt::format("T at which attention takes the FLOPs of the products, D={}", d),
          .formula = "(18 D F + 24 D^2) / (12 D)",
          .names = {{"D", static_cast<double>(d)}, {"F", static_cast<double>(4 * d)}},
          .value = products / token_flops(model, 1).attention.value,
          .unit = "tokens"};
}

std::vector<BookRow> attention_rows() {
  BookRow large = dominant_attention(8192);
  large.book = "65536";
  large.note = "8 D; the book says 64K";
  BookRow gemma = dominant_attention(4608);
  gemma.book = "32768";
  gemma.verdict = Verdict::rounding;
  gemma.rounded = 8 * 4096;
  gemma.note = "Gemma-27B; the book says around 32k, as for D = 4k";
  return {large, gemma};
}

/// Section 4.4.2: the activations of a batch of 4e6 tokens.
std::vector<BookRow> activation_rows() {
  const TransformerConfig model{.d_model = 8192, .layers = 64};
  const double tokens = 4e6;
  const Names names = {{"T", tokens}, {"D", 8192}, {"L", 64}};
  return {{.section = "4.4",
           .quantity = "activations of 4e6 tokens, 20 of D a layer, bf16",
           .formula = "2 * 20 T D L",
           .names = names,
           .value = activation_bytes(model, tokens, Remat::none, kBf16).value,
           .unit = "TB",
           .book = "84"},
          {.section = "4.4",
           .quantity = "activations of 4e6 tokens, the input of each layer, bf16",
           .formula = "2 T D L",
           .names = names,
           .value = activation_bytes(model, tokens, Remat::block, kBf16).value,
           .unit = "TB",
           .book = "4.2"}};
}

const Names kLlama = {{"L", 80}, {"D", 8192}, {"F", 28672}, {"V", 128256}, {"N", 64}, {"K", 8}, {"H", 128}};

/// The names of `kLlama` among these letters.
Names llama(const std::string& letters) {
  Names names;
  for (const auto& entry : kLlama) {
    if (letters.find(entry.first) != std::string::npos) names.push_back(entry);
  }
  return names;
}

std::vector<BookRow> llama_parameters(const ParameterParts& parts) {
  const auto row = [](const std::string& what, const std::string& formula, const std::string& letters, Index value,
                      const std::string& book) {
    return BookRow{.section = "6.2",
                   .quantity = "LLaMA-3 70B: " + what,
                   .formula = formula,
                   .names = llama(letters),
                   .value = static_cast<double>(value),
                   .unit = "",
                   .book = book};
  };
  BookRow total =
      row("parameters", "L (3 D F + 2 D N H + 2 D K H + 2 D) + 2 V D + D", "LDFVNKH", parts.total(), "70.4e9");
  total.note = "with the norms, which the book leaves out";
  return {row("feed-forward parameters", "3 D F L", "LDF", parts.feed_forward, "56.3e9"),
          row("vocabulary parameters", "2 V D", "VD", parts.vocabulary, "2.1e9"),
          row("attention parameters", "L (2 D N H + 2 D K H)", "LDNKH", parts.attention, "12e9"), total};
}

std::vector<BookRow> llama_training(const TransformerConfig& model) {
  const roofline::Chip& v5p = roofline::chip_named("v5p");
  const auto chips = static_cast<double>(v5p.most_chips);
  const auto n = static_cast<double>(parameter_count(model));
  const Flops each = token_flops(model, 0).products;
  const double tokens = 15e12;
  const FlopsPerSecond pod = v5p.matmul * chips * 0.4;
  return {{.section = "6.2",
           .quantity = "LLaMA-3 70B: FLOPs of training a token",
           .formula = "6 N",
           .names = {{"N", n}},
           .value = each.value,
           .unit = "FLOP",
           .book = "4.2e11"},
          {.section = "6.2",
           .quantity = "LLaMA-3 70B: FLOPs of 15e12 tokens",
           .formula = "6 N T",
           .names = {{"N", n}, {"T", tokens}},
           .value = (each * tokens).value,
           .unit = "FLOP",
           .book = "6.3e24"},
          {.section = "6.2",
           .quantity = "LLaMA-3 70B: 15e12 tokens on one v5p",
           .formula = "6 N T / C",
           .names = {{"N", n}, {"T", tokens}, {"C", v5p.matmul.value}},
           .value = (each * tokens / v5p.matmul).value,
           .unit = "years",
           .book = "435"},
          {.section = "6.2",
           .quantity = "LLaMA-3 70B: 15e12 tokens on 8960 v5p at 40%",
           .formula = "6 N T / (n C u)",
           .names = {{"N", n}, {"T", tokens}, {"n", chips}, {"C", v5p.matmul.value}, {"u", 0.4}},
           .value = (each * tokens / pod).value,
           .unit = "days",
           .book = "44",
           .note = "the book takes N = 70e9, here and below"}};
}

std::vector<BookRow> llama_memory(const TransformerConfig& model) {
  const roofline::Chip& v5p = roofline::chip_named("v5p");
  const auto chips = static_cast<double>(v5p.most_chips);
  const auto n = static_cast<double>(parameter_count(model));
  const double tokens = 4e6;
  constexpr double kCheckpoints = 4;  // of d_model in each layer
  const Bytes checkpoints = kBf16 * (kCheckpoints * tokens * static_cast<double>(model.d_model * model.layers));
  const Bytes all = Bytes(10 * n) + checkpoints;
  const Names sizes = {{"T", tokens}, {"D", 8192}, {"L", 80}};
  Names with_memory = sizes;
  with_memory.insert(with_memory.end(), {{"N", n}, {"M", v5p.capacity.value}});
  Names with_chips = sizes;
  with_chips.insert(with_chips.end(), {{"N", n}, {"n", chips}});
  return {{.section = "6.2",
           .quantity = "LLaMA-3 70B: weights in bf16",
           .formula = "2 N",
           .names = {{"N", n}},
           .value = 2 * n,
           .unit = "GB",
           .book = "140"},
          {.section = "6.2",
           .quantity = "LLaMA-3 70B: optimizer state in f32",
           .formula = "8 N",
           .names = {{"N", n}},
           .value = 8 * n,
           .unit = "GB",
           .book = "560"},
          {.section = "6.2",
           .quantity = "LLaMA-3 70B: four checkpoints a layer of 4e6 tokens, bf16",
           .formula = "2 * 4 T D L",
           .names = sizes,
           .value = checkpoints.value,
           .unit = "TB",
           .book = "20.9"},
          {.section = "6.2",
           .quantity = "LLaMA-3 70B: v5p that hold weights, state and checkpoints",
           .formula = "(10 N + 8 T D L) / M",
           .names = with_memory,
           .value = all / v5p.capacity,
           .unit = "chips",
           .book = "225"},
          {.section = "6.2",
           .quantity = "LLaMA-3 70B: bytes of these on each of 8960 v5p",
           .formula = "(10 N + 8 T D L) / n",
           .names = with_chips,
           .value = (all / chips).value,
           .unit = "GB",
           .book = "2.4"}};
}

/// Section 6.3: FSDP and tensor parallelism on a pod, and where they are compute-bound.
std::vector<BookRow> llama_bounds() {
  const roofline::Chip& v5p = roofline::chip_named("v5p");
  const roofline::ChipRates rates{v5p.matmul, v5p.link * 2};
  const auto chips = static_cast<double>(v5p.most_chips);
  const double f = 28672;
  const double tokens = 4.19e6;
  const auto forward = roofline::CountedPasses::forward;
  const roofline::TwoProducts layer{tokens, 8192, f};
  const auto [least, most] = roofline::compute_bound_x(layer, rates, chips, 2, 1, forward).value();
  ClosedFormQuery batch;
  batch.tokens = 4194304;
  batch.sequence = 4096;
  const auto data = static_cast<double>(batch.data_ways(2048));
  const Names quadratic = {{"B", tokens}, {"a", rates.intensity()}, {"F", f}, {"N", chips}};
  return {{.section = "6.3",
           .quantity = "LLaMA-3 70B: tokens a chip of a batch of 4M on 8960 v5p",
           .formula = "4 * 1024 * 1024 / n",
           .names = {{"n", chips}},
           .value = 4194304 / chips,
           .unit = "tokens",
           .book = "468"},
          {.section = "6.3",
           .quantity = "LLaMA-3 70B: sequences of 4096 in the batch, ranks of data parallelism",
           .formula = "4 * 1024 * 1024 / T",
           .names = {{"T", 4096}},
           .value = data,
           .unit = "",
           .book = "1024"},
          {.section = "6.3",
           .quantity = "LLaMA-3 70B: ranks that share a sequence, of 2048 for FSDP",
           .formula = "X T / (4 * 1024 * 1024)",
           .names = {{"X", 2048}, {"T", 4096}},
           .value = 2048 / data,
           .unit = "",
           .book = "2"},
          {.section = "6.3",
           .quantity = "LLaMA-3 70B: FSDP + TP is compute-bound for tokens a chip above",
           .formula = "4 a^2 / (2 F)",
           .names = {{"a", rates.intensity()}, {"F", f}},
           .value = roofline::least_tokens_per_chip(rates.intensity(), f, 2, 1, forward),
           .unit = "tokens",
           .book = "453"},
          {.section = "6.3",
           .quantity = "LLaMA-3 70B: X, the middle of the two roots",
           .formula = "B / a",
           .names = {{"B", tokens}, {"a", rates.intensity()}},
           .value = (least + most) / 2,
           .unit = "",
           .book = "1643",
           .note = "B = 4.19e6, as printed there"},
          {.section = "6.3",
           .quantity = "LLaMA-3 70B: X, from the middle to either root",
           .formula = "sqrt(B^2 F^2 - 2 a^2 F B N) / (a F)",
           .names = quadratic,
           .value = (most - least) / 2,
           .unit = "",
           .book = "284"},
          {.section = "6.3",
           .quantity = "LLaMA-3 70B: X, the larger root",
           .formula = "B / a + sqrt(B^2 F^2 - 2 a^2 F B N) / (a F)",
           .names = quadratic,
           .value = most,
           .unit = "",
           .book = "1927"}};
}

/// Section 6.3: the best mesh.
std::vector<BookRow> llama_mesh() {
  const roofline::Chip& v5p = roofline::chip_named("v5p");
  const roofline::ChipRates rates{v5p.matmul, v5p.link * 2};
  const auto chips = static_cast<double>(v5p.most_chips);
  const auto forward = roofline::CountedPasses::forward;
  const roofline::TwoProducts layer{4.19e6, 8192, 28672};
  const double most = roofline::compute_bound_x(layer, rates, chips, 2, 1, forward).value().second;
  const Index power = roofline::power_of_two_below(v5p.most_chips);
  const roofline::MixedMesh best = roofline::best_mixed_mesh(layer, rates, power, 2, 1, 3, forward);
  return {{.section = "6.3",
           .quantity = "LLaMA-3 70B: X as a power of two",
           .formula = "2^round(log2(x))",
           .names = {{"x", most}},
           .value = best.x,
           .unit = "",
           .book = "2048",
           .note = "of all powers of two, the one that communicates least"},
          {.section = "6.3",
           .quantity = "LLaMA-3 70B: Y beside it",
           .formula = "2^floor(log2(n)) / X",
           .names = {{"n", chips}, {"X", best.x}},
           .value = best.y,
           .unit = "",
           .book = "4"}};
}

}  // namespace

std::vector<BookRow> transformer_rows() {
  std::vector<BookRow> rows = counting_rows();
  std::vector<BookRow> between = attention_rows();
  for (BookRow& row : activation_rows()) between.push_back(std::move(row));
  for (BookRow& row : expert_rows()) between.push_back(std::move(row));
  rows.insert(rows.begin() + 3, between.begin(), between.end());  // sections 4.3 and 4.4 before exercise 4.5
  for (BookRow& row : deepseek_rows()) rows.push_back(std::move(row));
  return rows;
}

std::vector<BookRow> llama_rows() {
  const TransformerConfig model = sizes_of_model("llama3-70b");
  std::vector<BookRow> rows;
  for (const auto& some : {llama_parameters(parameter_parts(model)), llama_training(model), llama_memory(model),
                           llama_bounds(), llama_mesh()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace shardline::tools
