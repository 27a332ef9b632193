// Sections 7 and 8: inference, and serving LLaMA-3 70B.

#include <fmt/format.h>

#include <algorithm>

#include "models/architecture/accounting.h"
#include "models/architecture/known_models.h"
#include "roofline/machine/catalogue.h"
#include "tools/book/book_rows.h"

namespace shardline::tools {
namespace {

using Names = std::vector<std::pair<std::string, double>>;
using roofline::Chip;
using roofline::chip_named;

/// The bytes read and the FLOPs of a generation step, over all chips.
struct Generation {
  double batch = 0;
  Bytes cache;    ///< of one sequence
  Bytes weights;  ///< as stored
  double parameters = 0;
};

/// Section 7.1.5, "general". The time to read every cache, plus the longer of: reading the weights,
/// computing the products.
Seconds step_time(const Generation& step, double chips, FlopsPerSecond compute, BytesPerSecond memory) {
  const Seconds caches = step.cache * step.batch / (memory * chips);
  const Seconds products = Flops(2 * step.batch * step.parameters) / (compute * chips);
  return caches + std::max(products, step.weights / (memory * chips));
}

BookRow step_row(const std::string& section, const std::string& quantity, const Generation& step, double chips,
                 BytesPerSecond memory, const std::string& book) {
  const FlopsPerSecond compute = chip_named("v5e").matmul;
  return {.section = section,
          .quantity = quantity,
          .formula = "B k / (n W) + max(2 B N / (n C), P / (n W))",
          .names = {{"B", step.batch},
                    {"k", step.cache.value},
                    {"n", chips},
                    {"W", memory.value},
                    {"N", step.parameters},
                    {"C", compute.value},
                    {"P", step.weights.value}},
          .value = step_time(step, chips, compute, memory).value,
          .unit = "ms",
          .book = book};
}

/// Section 7.1.7: LLaMA-2 13B in bf16 on 8 v5e, caches of 8192 tokens.
std::vector<BookRow> llama2_steps() {
  const BytesPerSecond memory(8.2e11);
  const TransformerConfig model = sizes_of_model("llama2-13b");
  TransformerConfig grouped = model;
  grouped.kv_heads = model.kv_heads / 5;
  const auto parameters = static_cast<double>(parameter_count(model));
  const std::vector<std::pair<int, std::pair<std::string, std::string>>> figures = {
      {1, {"4.98", "4.17"}},    {8, {"12.13", "5.60"}},   {16, {"20.30", "7.23"}},
      {32, {"36.65", "10.50"}}, {64, {"69.33", "17.04"}}, {240, {"249.09", "52.99"}}};
  std::vector<BookRow> rows;
  for (const bool shared : {false, true}) {
    const Bytes cache = kv_cache_per_token(shared ? grouped : model, Bytes(2)) * 8192;
    for (const auto& [batch, books] : figures) {
      const Generation step{static_cast<double>(batch), cache, Bytes(2 * parameters), parameters};
      rows.push_back(step_row(
          "7.1.7", fmt::format("LLaMA-2 13B, 8 v5e, caches of {:.3g} GB: step of batch {}", cache.value / 1e9, batch),
          step, 8, memory, shared ? books.second : books.first));
    }
  }
  rows[0].note = "HBM at 8.2e11 B/s in this section";
  rows[6].note = "a fifth of the key-value heads, as many parameters";
  return rows;
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
  const TransformerConfig model = made_up_model();
  return {{.section = "7.1ex",
           .quantity = "parameters of the model of section 7.5",
           .formula = "L D (3 F + 2 H (N + K) + 2) + D V + D",
           .names = {{"L", 64}, {"D", 4096}, {"F", 16384}, {"H", 256}, {"N", 32}, {"K", 8}, {"V", 32128}},
           .value = static_cast<double>(parameter_count(model)),
           .unit = "",
           .book = "18.4e9"},
          {.section = "7.1ex",
           .quantity = "KV cache of a token of the model of section 7.5, int8",
           .formula = "2 L K H",
           .names = {{"L", 64}, {"K", 8}, {"H", 256}},
           .value = kv_cache_per_token(model, Bytes(1)).value,
           .unit = "B",
           .verdict = Verdict::exercise}};
}

std::vector<BookRow> inference_limits() {
  const roofline::Hardware v5e = roofline::hardware_named("v5e", AbstractMesh::parse("Y=8"), DType::bf16);
  const roofline::Link& link = v5e.link("Y");
  return {{.section = "7.6.3",
           .quantity = "8-way Megatron on v5e is bound by latency for buffers below",
           .formula = "Y w t",
           .names = {{"Y", 8}, {"w", link.bandwidth.value}, {"t", link.latency.value}},
           .value = 8 * link.bandwidth.value * link.latency.value,
           .unit = "kB",
           .book = "360"},
          {.section = "7.7ex",
           .quantity = "2D weight-stationary beats 1D for N above, F = 4 D",
           .formula = "32 r (3 / 4)^2",
           .names = {{"r", 4}},
           .value = 32 * 4 * 0.75 * 0.75,
           .unit = "chips",
           .book = "81",
           .verdict = Verdict::slip,
           .note = "128 (3/4)^2, as the book writes, is 72"}};
}

/// Section 8.1: LLaMA-3 70B on v5e.
std::vector<BookRow> llama3_serving() {
  const Chip& v5e = chip_named("v5e");
  const Bytes token = kv_cache_per_token(sizes_of_model("llama3-70b"), Bytes(1));
  const Bytes all = Bytes(70e9) + token * 32 * 8192;
  const Bytes rounded(112e9);
  return {{.section = "8.1",
           .quantity = "LLaMA-3 70B: KV cache of a token, int8",
           .formula = "2 K H L",
           .names = {{"K", 8}, {"H", 128}, {"L", 80}},
           .value = token.value,
           .unit = "KiB",
           .book = "160",
           .note = "the book's kB is 1024 B here"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: weights and 32 caches of 8192 tokens, int8",
           .formula = "N + b S k",
           .names = {{"N", 70e9}, {"b", 32}, {"S", 8192}, {"k", token.value}},
           .value = all.value,
           .unit = "GB",
           .book = "112"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: a step of batch 32 on a v5e 4x2",
           .formula = "M / (n W)",
           .names = {{"M", rounded.value}, {"n", 8}, {"W", v5e.memory.value}},
           .value = (rounded / (v5e.memory * 8)).value,
           .unit = "ms",
           .book = "17",
           .note = "of the 112 GB, rounded"},
          {.section = "8.1",
           .quantity = "LLaMA-3 70B: tokens/s of batch 32 at steps of 17 ms",
           .formula = "b / t",
           .names = {{"b", 32}, {"t", 0.017}},
           .value = 32 / 0.017,
           .unit = "tokens/s",
           .book = "1882"}};
}

/// Section 8.1.1: one product on a v5e 4x8, batch 64.
std::vector<BookRow> product_legs() {
  const Chip& v5e = chip_named("v5e");
  const Names names = {{"B", 64}, {"D", 8192}, {"F", 28672}, {"Y", 32}};
  const std::string product = "LLaMA-3 70B on a v5e 4x8, batch 64: ";
  return {{.section = "8.1.1",
           .quantity = product + "activations over ICI",
           .formula = "2 B D / (2 w)",
           .names = {names[0], names[1], {"w", v5e.link.value}},
           .value = (Bytes(2.0 * 64 * 8192) / (v5e.link * 2)).value,
           .unit = "us",
           .book = "11"},
          {.section = "8.1.1",
           .quantity = product + "weights from HBM",
           .formula = "2 D F / (Y W)",
           .names = {names[1], names[2], names[3], {"W", v5e.memory.value}},
           .value = (Bytes(2.0 * 8192 * 28672) / (v5e.memory * 32)).value,
           .unit = "us",
           .book = "18"},
          {.section = "8.1.1",
           .quantity = product + "FLOPs",
           .formula = "2 B D F / (Y C)",
           .names = {names[0], names[1], names[2], names[3], {"C", v5e.matmul.value}},
           .value = (Flops(2.0 * 64 * 8192 * 28672) / (v5e.matmul * 32)).value,
           .unit = "us",
           .book = "4"}};
}

/// Section 8.1.1: queries per second and chip.
std::vector<BookRow> throughput_rows() {
  struct Served {
    std::string dtype;
    double batch;
    double chips;
    std::string book;
    std::string note;
  };
  const std::vector<Served> all = {
      {"bf16", 43, 16, "0.27", ""},
      {"int8", 52, 8, "0.66", "from the book's batch; 52 caches are 70 GB, where 8 chips of 16 GB leave 58 GB"},
      {"int4", 67, 4, "1.72", "from the book's batch; 67 caches are 45 GB, where 4 chips of 16 GB leave 29 GB"}};
  std::vector<BookRow> rows;
  for (const Served& served : all) {
    rows.push_back({.section = "8.1.1",
                    .quantity = fmt::format("queries/s a chip, {}, batch {} on {} v5e, 512 tokens each", served.dtype,
                                            served.batch, served.chips),
                    .formula = "b / (t m n)",
                    .names = {{"b", served.batch}, {"t", 0.019}, {"m", 512}, {"n", served.chips}},
                    .value = served.batch / (0.019 * 512 * served.chips),
                    .unit = "1/s",
                    .book = served.book,
                    .note = served.note});
  }
  return rows;
}

std::vector<BookRow> prefill_rows() {
  const Chip& v5e = chip_named("v5e");
  const Flops work(2 * 70e9 * 8192);
  const Seconds prefill(0.91);
  return {{.section = "8.1.2",
           .quantity = "prefill of 8192 tokens on 16 v5e at 40%",
           .formula = "2 N T / (n C u)",
           .names = {{"N", 70e9}, {"T", 8192}, {"n", 16}, {"C", v5e.matmul.value}, {"u", 0.4}},
           .value = (work / (v5e.matmul * 16 * 0.4)).value,
           .unit = "s",
           .book = "0.91"},
          {.section = "8.1.2",
           .quantity = "prefill servers for one that generates, batch 32",
           .formula = "p b / (t m)",
           .names = {{"p", prefill.value}, {"b", 32}, {"t", 0.019}, {"m", 512}},
           .value = prefill / Seconds(0.019 * 512 / 32),
           .unit = "",
           .book = "3"}};
}

}  // namespace

std::vector<BookRow> inference_rows() {
  const BytesPerSecond memory = chip_named("v5e").memory;
  const auto step = [](double batch) { return Generation{batch, Bytes(819e6), Bytes(30e9), 30e9}; };
  const std::string model = "30e9 int8 weights, 16 v5e, caches of 819 MB: step of batch ";
  std::vector<BookRow> rows = {step_row("7.1.5", model + "4", step(4), 16, memory, "2.5"),
                               step_row("7.1.5", model + "256", step(256), 16, memory, "21")};
  for (const auto& some :
       {llama2_steps(), made_up_model_rows(), expert_exercises(made_up_model()), inference_limits()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

std::vector<BookRow> serving_rows() {
  std::vector<BookRow> rows;
  for (const auto& some : {llama3_serving(), product_legs(), throughput_rows(), prefill_rows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace shardline::tools
