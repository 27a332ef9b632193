// Sections 9 and 10, which measure, and the slides of the lecture.

#include "roofline/machine/catalogue.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/notation.h"
#include "tools/book/book_rows.h"

namespace shardline::tools {
namespace {

constexpr Seconds kADay{86400};

/// The years of each machine to train a model of this many FLOPs.
std::vector<BookRow> years_rows(const std::string& model, Flops work, const std::vector<std::string>& books) {
  const std::vector<std::pair<std::string, double>> machines = {
      {"18 TF", 18e12}, {"48 TF", 48e12}, {"918 TF", 918e12}, {"2000 TF", 2000e12}};
  std::vector<BookRow> rows;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const FlopsPerSecond rate(machines[i].second);
    rows.push_back({.section = "S",
                    .quantity = "training " + model + " at " + machines[i].first,
                    .formula = "N / C",
                    .names = {{"N", work.value}, {"C", rate.value}},
                    .value = (work / rate).value,
                    .unit = "years",
                    .book = books[i]});
  }
  return rows;
}

BookRow days_row(const std::string& model, Flops work, const std::string& book) {
  return {.section = "S",
          .quantity = "PetaFLOP-days of training " + model,
          .formula = "N / (P * 86400)",
          .names = {{"N", work.value}, {"P", 1e15}},
          .value = work / FlopsPerSecond(1e15) / kADay,
          .unit = "PF-days",
          .book = book};
}

std::vector<BookRow> batch_rows() {
  const FlopsPerSecond h100(1979e12);
  const FlopsPerSecond trillium(926e12);
  const BytesPerSecond trillium_memory(1.64e12);
  const BytesPerSecond memory = roofline::chip_named("h100").memory;
  return {{.section = "S",
           .quantity = "smallest batch that uses an H100 fully",
           .formula = "C / W",
           .names = {{"C", h100.value}, {"W", memory.value}},
           .value = h100.value / memory.value,
           .unit = "tokens",
           .book = "590.746",
           .note = "1979 TF are reached with sparsity alone; without, half of it (exercise 1.5)"},
          {.section = "S",
           .quantity = "smallest batch that uses a Trillium fully",
           .formula = "C / W",
           .names = {{"C", trillium.value}, {"W", trillium_memory.value}},
           .value = trillium.value / trillium_memory.value,
           .unit = "tokens",
           .verdict = Verdict::exercise}};
}

std::vector<BookRow> slide_layout_rows() {
  const AbstractMesh mesh = AbstractMesh::parse("X=4,Y=8,Z=2");
  const ParsedArray array = resolve(parse_array("A[I_XY, J]"), mesh);
  const auto device = 2 * static_cast<double>(element_count(largest_local_shape({256, 2048}, array.sharding, mesh)));
  const std::vector<std::pair<std::string, double>> names = {{"I", 256}, {"J", 2048}, {"X", 4}, {"Y", 8}};
  std::vector<std::pair<std::string, double>> with_z = names;
  with_z.emplace_back("Z", 2);
  return {{.section = "S",
           .quantity = "bf16[256,2048] as A[I_XY, J] on {X:4, Y:8, Z:2}, per device",
           .formula = "2 I J / (X Y)",
           .names = names,
           .value = device,
           .unit = "B",
           .verdict = Verdict::exercise},
          {.section = "S",
           .quantity = "bf16[256,2048] as A[I_XY, J] on {X:4, Y:8, Z:2}, all devices",
           .formula = "(2 I J / (X Y)) X Y Z",
           .names = with_z,
           .value = device * static_cast<double>(mesh.ranks()),
           .unit = "MiB",
           .verdict = Verdict::exercise}};
}

}  // namespace

std::vector<BookRow> profile_rows() {
  const FlopsPerSecond core(23e12);
  const Flops work(2.0 * 32 * 1024 * 8192 * 32768);
  const BytesPerSecond link(1.2e11);
  const Bytes shard(2.0 * 8 * 1024 * 8192);
  const std::string measured = "all three times are measurements of the book's; benchmarks/overlap has ours";
  std::vector<BookRow> rows = {{.section = "9.2.4",
                                .quantity = "bf16[32,1024,8192] x [8192,32768] on 8 cores of v2",
                                .formula = "2 b T D F / (n C)",
                                .names = {{"b", 32}, {"T", 1024}, {"D", 8192}, {"F", 32768}, {"n", 8}, {"C", 23e12}},
                                .value = (work / (core * 8)).value,
                                .unit = "ms",
                                .book = "95.6",
                                .note = "the profile has 96 ms"},
                               {.section = "9.2.4",
                                .quantity = "ReduceScatter of a quarter of its result, 134 MB",
                                .formula = "2 (b / 4) T D / W",
                                .names = {{"b", 32}, {"T", 1024}, {"D", 8192}, {"W", link.value}},
                                .value = (shard / link).value,
                                .unit = "ms",
                                .book = "1.1",
                                .note = "the profile has 1.13 ms"}};
  const Seconds gathered(311e-6);
  const Seconds overlapped(244e-6);
  const Seconds alone(224e-6);
  const std::vector<std::pair<std::string, double>> names = {
      {"g", gathered.value}, {"o", overlapped.value}, {"a", alone.value}};
  rows.push_back({.section = "10.1.2",
                  .quantity = "collective matmul: time of gathering first / product alone",
                  .formula = "g / a",
                  .names = {names[0], names[2]},
                  .value = gathered / alone,
                  .unit = "",
                  .verdict = Verdict::exercise,
                  .note = measured});
  rows.push_back({.section = "10.1.2",
                  .quantity = "collective matmul: time when overlapped / product alone",
                  .formula = "o / a",
                  .names = {names[1], names[2]},
                  .value = overlapped / alone,
                  .unit = "",
                  .verdict = Verdict::exercise,
                  .note = measured});
  rows.push_back({.section = "10.1.2",
                  .quantity = "collective matmul: share of the gather that is hidden",
                  .formula = "(g - o) / (g - a)",
                  .names = names,
                  .value = (gathered - overlapped) / (gathered - alone),
                  .unit = "%",
                  .verdict = Verdict::exercise,
                  .note = measured});
  return rows;
}

std::vector<BookRow> slide_rows() {
  const Flops gpt3(5.24e23);
  const Flops llama(3.79e25);
  std::vector<BookRow> rows = years_rows("GPT-3", gpt3, {"923.02", "346.13", "18.10", "8.31"});
  for (const auto& some : {years_rows("Llama-3 405B", llama, {"66780.82", "25042.81", "1309.43", "601.03"}),
                           {days_row("GPT-3", gpt3, "6064"), days_row("Llama-3 405B", llama, "438750")},
                           batch_rows(),
                           slide_layout_rows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace shardline::tools
