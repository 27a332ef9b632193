// Section 8.1.1: throughput of LLaMA-3 70B on v5e, by types and slices.

#include <fmt/format.h>

#include "models/planning/generation_frontier.h"
#include "tools/book/book_rows.h"
#include "tools/book/served_llama.h"

namespace shardline::tools {
namespace {

using roofline::chip_named;

/// Section 8.1.1: one product on a v5e 4x8, batch 64.
std::vector<BookRow> product_legs() {
  const roofline::Chip& v5e = chip_named("v5e");
  GenerationLinks links = generation_links(v5e);
  links.torus_axes = 1;  // the book counts one
  const DecodeLayer layer{.d_model = 8192, .d_ff = 28672};
  const GenerationModel product{.parameters = 8192.0 * 28672, .weights = Bytes(2.0 * 8192 * 28672)};
  const DecodeStep step = decode_step(product, served_v5e(), {.chips = 32, .sequences = 64});
  const std::vector<std::pair<std::string, double>> names = {{"B", 64}, {"D", 8192}, {"F", 28672}, {"Y", 32}};
  const std::string words = "LLaMA-3 70B on a v5e 4x8, batch 64: ";
  return {{.section = "8.1.1",
           .quantity = words + "activations over ICI",
           .formula = "2 B D / (2 w)",
           .names = {names[0], names[1], {"w", v5e.link.value}},
           .value = one_axis_mlp_time(layer, links, 2, 64).value / 2,  // gathered, and scattered
           .unit = "us",
           .book = "11"},
          {.section = "8.1.1",
           .quantity = words + "weights from HBM",
           .formula = "2 D F / (Y W)",
           .names = {names[1], names[2], names[3], {"W", v5e.memory.value}},
           .value = step.parameters.value,
           .unit = "us",
           .book = "18"},
          {.section = "8.1.1",
           .quantity = words + "FLOPs",
           .formula = "2 B D F / (Y C)",
           .names = {names[0], names[1], names[2], names[3], {"C", v5e.matmul.value}},
           .value = step.flops.value,
           .unit = "us",
           .book = "4"},
          {.section = "8.1.1",
           .quantity = "LLaMA-3 70B, batch 64: moving takes longer than reading bf16 weights above",
           .formula = "F / (B (W / (2 w)))",
           .names = {names[2], names[0], {"W", v5e.memory.value}, {"w", v5e.link.value}},
           .value = most_chips_by_memory(28672, Bytes(2), 64, v5e.memory, links),
           .unit = "chips",
           .book = "56",
           .verdict = Verdict::rounding,
           .rounded = 28672.0 / (8 * 64),
           .note = "from W over both ways of a link = 8"}};
}

/// A type in section 8.1.1, with the figures that the book gives.
struct ServedType {
  std::string name;
  Bytes element;
  std::string fewest;  ///< chips for the weights
  std::string slice;
  std::string room;  ///< GB for caches
  std::string caches;
  std::string queries;
  std::string doubled;  ///< queries on twice the chips
  std::string note;     ///< on the room; empty if it agrees
};

const std::vector<ServedType>& served_types() {
  static const std::vector<ServedType> types = {
      {"bf16", Bytes(2), "8.75", "16", "116", "43", "0.27", "0.51", ""},
      {"int8", Bytes(1), "4.38", "8", "68", "52", "0.66", "1.03", "8 chips of 16 GB less 70 GB"},
      {"int4", Bytes(0.5), "2.81", "4", "19", "67", "1.72", "2.06", "4 chips of 16 GB less 35 GB; the book has 45"}};
  return types;
}

/// The slice of a type, and what it holds.
std::vector<BookRow> slice_rows(const ServedType& type) {
  const GenerationChip v5e = served_v5e();
  const GenerationModel model = served_llama3(type.element);
  const Index slice = least_slice(model, v5e, {.sequences = 0});
  const auto chips = static_cast<double>(slice);
  const double cache = model.cache_per_token.value * kServedContext;
  const std::string words = "LLaMA-3 70B in " + type.name + ": ";
  const Verdict verdict = type.note.empty() ? Verdict::agrees : Verdict::slip;
  const bool halved = type.name == "int4";
  return {
      {.section = "8.1.1",
       .quantity = words + "v5e that hold the weights",
       .formula = "w N / M",
       .names = {{"w", type.element.value}, {"N", kServedParameters}, {"M", v5e.capacity.value}},
       .value = model.weights / v5e.capacity,
       .unit = "chips",
       .book = type.fewest,
       .verdict = halved ? Verdict::slip : Verdict::agrees,
       .note = halved ? "70e9 half bytes are 35 GB, not 45" : ""},
      {.section = "8.1.1",
       .quantity = words + "the smallest slice",
       .formula = "2^ceil(log2(w N / M))",
       .names = {{"w", type.element.value}, {"N", kServedParameters}, {"M", v5e.capacity.value}},
       .value = chips,
       .unit = "chips",
       .book = type.slice},
      {.section = "8.1.1",
       .quantity = words + "room for caches on it",
       .formula = "n M - w N",
       .names = {{"n", chips}, {"M", v5e.capacity.value}, {"w", type.element.value}, {"N", kServedParameters}},
       .value = cache_room(model, v5e, chips).value,
       .unit = "GB",
       .book = type.room,
       .verdict = verdict,
       .note = type.note},
      {.section = "8.1.1",
       .quantity = words + "caches of 8192 tokens on it",
       .formula = "floor((n M - w N) / k)",
       .names =
           {{"n", chips}, {"M", v5e.capacity.value}, {"w", type.element.value}, {"N", kServedParameters}, {"k", cache}},
       .value = most_sequences(model, v5e, chips, kServedContext),
       .unit = "",
       .book = type.caches,
       .verdict = verdict,
       .note = type.note}};
}

BookRow queries_row(const std::string& words, double batch, double chips, const std::string& book) {
  return {.section = "8.1.1",
          .quantity = fmt::format("queries/s a chip, {}, batch {} on {} v5e, 512 tokens each", words, batch, chips),
          .formula = "b / (t m n)",
          .names = {{"b", batch}, {"t", kFullStep.value}, {"m", kServedTokens}, {"n", chips}},
          .value = queries_per_chip(kFullStep, {.chips = chips, .sequences = batch}, kServedTokens),
          .unit = "1/s",
          .book = book};
}

/// bf16 on twice the chips.
std::vector<BookRow> doubled_slice() {
  const GenerationChip v5e = served_v5e();
  std::vector<BookRow> rows;
  const GenerationModel doubled = served_llama3(Bytes(2));
  const double cache = doubled.cache_per_token.value * kServedContext;
  const std::vector<std::pair<std::string, double>> names = {
      {"n", 32}, {"M", v5e.capacity.value}, {"w", 2}, {"N", kServedParameters}};
  const std::string note = "186 GB are what 16 chips leave beside 70 GB; 32 leave 372 GB beside 140";
  rows.push_back({.section = "8.1.1",
                  .quantity = "LLaMA-3 70B in bf16: room for caches on a v5e 4x8",
                  .formula = "n M - w N",
                  .names = names,
                  .value = cache_room(doubled, v5e, 32).value,
                  .unit = "GB",
                  .book = "186",
                  .verdict = Verdict::slip,
                  .note = note});
  rows.push_back({.section = "8.1.1",
                  .quantity = "LLaMA-3 70B in bf16: caches of 8192 tokens on a v5e 4x8",
                  .formula = "floor((n M - w N) / k)",
                  .names = {names[0], names[1], names[2], names[3], {"k", cache}},
                  .value = most_sequences(doubled, v5e, 32, kServedContext),
                  .unit = "",
                  .book = "161",
                  .verdict = Verdict::slip,
                  .note = "372 GB of caches of 2.68 GB"});
  return rows;
}

}  // namespace

std::vector<BookRow> throughput_rows() {
  const GenerationChip v5e = served_v5e();
  std::vector<BookRow> rows = product_legs();
  for (const ServedType& type : served_types()) {
    const std::vector<BookRow> some = slice_rows(type);
    rows.insert(rows.end(), some.begin(), some.end());
  }
  const GenerationModel full{.weights = v5e.capacity};
  rows.push_back({.section = "8.1.1",
                  .quantity = "a step that reads all memory of v5e",
                  .formula = "M / W",
                  .names = {{"M", v5e.capacity.value}, {"W", 8.2e11}},
                  .value = decode_step(full, {v5e.compute, BytesPerSecond(8.2e11), {}}, {}).time().value,
                  .unit = "ms",
                  .book = "19",
                  .note = "HBM at 8.2e11 B/s here"});
  for (const ServedType& type : served_types()) {
    rows.push_back(queries_row(type.name, std::stod(type.caches), std::stod(type.slice), type.queries));
    if (!type.note.empty()) rows.back().note = "from the book's batch";
  }
  const std::vector<BookRow> doubled = doubled_slice();
  rows.insert(rows.end(), doubled.begin(), doubled.end());
  for (const ServedType& type : served_types()) {
    rows.push_back(queries_row(type.name, 161, 2 * std::stod(type.slice), type.doubled));
    rows.back().note = "from the book's batch";
  }
  return rows;
}

}  // namespace shardline::tools
