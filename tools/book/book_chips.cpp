// Sections 1 and 2: rooflines and chips.

#include <cmath>

#include "roofline/machine/catalogue.h"
#include "roofline/price/collective_cost.h"
#include "tools/book/book_rows.h"

namespace shardline::tools {
namespace {

using roofline::Chip;
using roofline::chip_named;

/// HBM of a v5e in sections 1, 7.1.7 and 8.1.1. The catalogue has the 8.1e11 of section 2.
constexpr BytesPerSecond kMemory{8.2e11};
constexpr const char* kMemoryNote = "HBM at 8.2e11 B/s, as printed here; section 2 and the catalogue have 8.1e11";

/// The totals of a whole pod.
std::vector<BookRow> pod_rows(const std::string& name, const std::string& hosts, const std::string& cores) {
  const Chip& chip = chip_named(name);
  const auto chips = static_cast<double>(chip.most_chips);
  const auto per_host = static_cast<double>(chip.chips_per_host);
  const std::string pod = "a whole pod of " + name + ": ";
  return {{.section = "2.2ex",
           .quantity = pod + "hosts",
           .formula = "n / h",
           .names = {{"n", chips}, {"h", per_host}},
           .value = chips / per_host,
           .unit = "",
           .book = hosts},
          {.section = "2.2ex",
           .quantity = pod + "TensorCores",
           .formula = "n c",
           .names = {{"n", chips}, {"c", chip.cores}},
           .value = chips * chip.cores,
           .unit = "",
           .book = cores},
          {.section = "2.2ex",
           .quantity = pod + "bf16 FLOPs/s",
           .formula = "n C",
           .names = {{"n", chips}, {"C", chip.matmul.value}},
           .value = (chip.matmul * chips).value,
           .unit = "FLOP/s"},
          {.section = "2.2ex",
           .quantity = pod + "HBM",
           .formula = "n M",
           .names = {{"n", chips}, {"M", chip.capacity.value}},
           .value = (chip.capacity * chips).value,
           .unit = "TB"}};
}

/// Exercise 2.4: the number of tokens at which int8[F, D] x int8[B, D] takes the same time to
/// compute and to load, by `memory`.
double even_batch(const Chip& chip, Index d, Index f, BytesPerSecond memory) {
  const Bytes weights(static_cast<double>(d * f));
  const Bytes each_token(static_cast<double>(d + f));
  const Flops work(2 * weights.value);
  return (weights / memory) / (work / chip.int8 - each_token / memory);
}

/// Exercise 2.6: int8[128 * 1024, 128 * 1024] from the hosts of a v5e 4x4 to one chip, times bf16[8, 128 * 1024].
std::vector<BookRow> offloaded_rows() {
  const Chip& v5e = chip_named("v5e");
  const double chips = 16;
  const auto per_host = static_cast<double>(v5e.chips_per_host);
  const Bytes array(16e9);
  const double side = 128.0 * 1024;
  const Flops work(2 * 8 * side * side);
  const std::string array_note = "the array of 16 GiB taken as 16e9 B, as the book does";
  return {{.section = "2.6ex",
           .quantity = "a 16 GB array from host memory to 16 v5e, over PCIe",
           .formula = "V (h / n) / (h P)",
           .names = {{"V", array.value}, {"h", per_host}, {"n", chips}, {"P", v5e.pcie.value}},
           .value = (array * (per_host / chips) / (v5e.pcie * per_host)).value,
           .unit = "ms",
           .book = "66",
           .note = array_note},
          {.section = "2.6ex",
           .quantity = "a 16 GB array from 16 v5e to one, over the two links it has",
           .formula = "(V - V / n) / (2 w)",
           .names = {{"V", array.value}, {"n", chips}, {"w", v5e.link.value}},
           .value = (array * (1 - 1 / chips) / (v5e.link * 2)).value,
           .unit = "ms",
           .book = "167",
           .note = array_note},
          {.section = "2.6ex",
           .quantity = "a 16 GB array from the HBM of a v5e into the MXU",
           .formula = "V / W",
           .names = {{"V", array.value}, {"W", v5e.memory.value}},
           .value = (array / v5e.memory).value,
           .unit = "ms",
           .book = "19",
           .note = array_note},
          {.section = "2.6ex",
           .quantity = "bf16[8, 131072] times a matrix of 131072 by 131072 on a v5e",
           .formula = "2 * 8 s^2 / C",
           .names = {{"s", side}, {"C", v5e.matmul.value}},
           .value = (work / v5e.matmul).value,
           .unit = "ms",
           .book = "1.3"}};
}

/// Exercise 2.5: bf16[8, 128, 8192] from corner to corner of a v5e 4x4. None of its axes wraps.
std::vector<BookRow> corner_rows() {
  const roofline::Hardware square = roofline::hardware_named("v5e", AbstractMesh::parse("X=4,Y=4"), DType::bf16);
  const Seconds first = roofline::collective_price({.ranks = {4, 4}}, {"X", "Y"}, square).time;
  const roofline::Link& link = square.link("X");
  const Bytes array(2.0 * 8 * 128 * 8192);
  return {{.section = "2.5ex",
           .quantity = "first byte from corner to corner of a v5e 4x4",
           .formula = "(3 + 3) t",
           .names = {{"t", link.latency.value}},
           .value = first.value,
           .unit = "us",
           .book = "6"},
          {.section = "2.5ex",
           .quantity = "bf16[8,128,8192] from corner to corner, over both links",
           .formula = "2 * 8 * 128 * 8192 / (2 w)",
           .names = {{"w", link.bandwidth.value}},
           .value = (array / (link.bandwidth * 2)).value,
           .unit = "us",
           .book = "188",
           .note = "the book rounds the array up to 1.7e7 B"}};
}

std::vector<BookRow> intensity_rows() {
  const Chip& v5e = chip_named("v5e");
  const Chip& h100 = chip_named("h100");
  const Flops work(1e12);
  const FlopsPerSecond v6e(9.1e14);
  return {{.section = "1.1",
           .quantity = "1e12 FLOPs on an H100",
           .formula = "N / C",
           .names = {{"N", work.value}, {"C", h100.matmul.value}},
           .value = (work / h100.matmul).value,
           .unit = "ms",
           .book = "1.01"},
          {.section = "1.1",
           .quantity = "1e12 FLOPs on a v6e",
           .formula = "N / C",
           .names = {{"N", work.value}, {"C", v6e.value}},
           .value = (work / v6e).value,
           .unit = "ms",
           .book = "1.1",
           .note = "9.1e14 FLOP/s, as printed here; section 2 and the catalogue have 9.2e14"},
          {.section = "1.1",
           .quantity = "critical intensity of a v5e",
           .formula = "C / W",
           .names = {{"C", v5e.matmul.value}, {"W", kMemory.value}},
           .value = v5e.matmul.value / kMemory.value,
           .unit = "FLOP/B",
           .book = "240",
           .note = kMemoryNote},
          {.section = "1.1.3",
           .quantity = "a product split over D on two v5e is compute-bound for D above",
           .formula = "2 C / w",
           .names = {{"C", v5e.matmul.value}, {"w", v5e.link.value}},
           .value = 2 * v5e.matmul.value / v5e.link.value,
           .unit = "",
           .book = "8755"}};
}

/// Exercises 1.1 to 1.5.
std::vector<BookRow> critical_batches() {
  const Chip& v5e = chip_named("v5e");
  const Chip& h100 = chip_named("h100");
  const FlopsPerSecond rounded_h100(1e15);
  return {
      {.section = "1.1ex",
       .quantity = "critical batch in int8 on a v5e",
       .formula = "C8 / (2 W)",
       .names = {{"C8", v5e.int8.value}, {"W", v5e.memory.value}},
       .value = v5e.int8.value / v5e.memory.value / 2,
       .unit = "tokens",
       .book = "243"},
      {.section = "1.2ex",
       .quantity = "critical batch of int8 weights and bf16 FLOPs",
       .formula = "C / (2 W)",
       .names = {{"C", v5e.matmul.value}, {"W", kMemory.value}},
       .value = v5e.matmul.value / kMemory.value / 2,
       .unit = "tokens",
       .book = "120",
       .note = kMemoryNote},
      {.section = "1.5ex",
       .quantity = "critical batch of an H100",
       .formula = "C / W",
       .names = {{"C", rounded_h100.value}, {"W", h100.memory.value}},
       .value = rounded_h100.value / h100.memory.value,
       .unit = "tokens",
       .book = "298",
       .note = "1e15 FLOP/s, as rounded there; the catalogue has 9.89e14"},
  };
}

std::vector<BookRow> weight_rows() {
  const Bytes weights(2 * 200e9);
  const BytesPerSecond v4p_memory(1.23e12);
  return {{.section = "2.1ex",
           .quantity = "200e9 bf16 weights from the HBM of 32 v4p",
           .formula = "2 N / (n W)",
           .names = {{"N", 200e9}, {"n", 32}, {"W", v4p_memory.value}},
           .value = (weights / 32 / v4p_memory).value,
           .unit = "ms",
           .book = "10",
           .note = "HBM at 1.23e12 B/s, as printed there; the catalogue has 1.2e12"}};
}

/// Exercise 2.2.
std::vector<BookRow> pods_rows() {
  std::vector<BookRow> rows = pod_rows("v5e", "32", "256");
  rows[2].book = "5.1e16";
  rows[2].verdict = Verdict::rounding;
  rows[2].rounded = 16.0 * 16 * 2e14;
  rows[2].note = "the book takes 2e14 FLOP/s a chip";
  rows[3].book = "4";
  std::vector<BookRow> larger = pod_rows("v5p", "2240", "17920");
  larger[2].book = "4e18";
  larger[3].book = "860";
  rows.insert(rows.end(), larger.begin(), larger.end());
  return rows;
}

/// Exercises 2.3 and 2.4.
std::vector<BookRow> product_rows() {
  std::vector<BookRow> rows;
  const Chip& v6e = chip_named("v6e");
  const BytesPerSecond pcie = chip_named("v5e").pcie;
  rows.push_back({.section = "2.3ex",
                  .quantity = "batch of a v6e with weights in host memory",
                  .formula = "C / P",
                  .names = {{"C", v6e.matmul.value}, {"P", pcie.value}},
                  .value = v6e.matmul.value / pcie.value,
                  .unit = "tokens",
                  .book = "61000",
                  .note = "PCIe at 1.5e10 B/s, as the exercise says; a v6e has 3.2e10"});
  const Chip& v5e = chip_named("v5e");
  const Index d = 4096;
  const Index f = 16384;
  const double rounded = (6.7e7 / 8.1e11) / (1.3e8 / 3.94e14 - 2e4 / 8.1e11);
  const BytesPerSecond vmem = v5e.memory * roofline::kVmemOverMemory;
  rows.push_back({.section = "2.4ex",
                  .quantity = "int8[16384,4096] x int8[B,4096] on a v5e is compute-bound for B above",
                  .formula = "(D F / W) / (2 D F / C8 - (D + F) / W)",
                  .names = {{"D", d}, {"F", f}, {"W", v5e.memory.value}, {"C8", v5e.int8.value}},
                  .value = even_batch(v5e, d, f, v5e.memory),
                  .unit = "tokens",
                  .book = "271",
                  .verdict = Verdict::rounding,
                  .rounded = rounded,
                  .note = "the book takes 6.7e7 weights, 1.3e8 FLOPs and 2e4 bytes a token"});
  rows.push_back(
      {.section = "2.4ex",
       .quantity = "int8[16384,4096] x int8[B,4096] out of VMEM is compute-bound for B above",
       .formula = "(D F / (v W)) / (2 D F / C8 - (D + F) / (v W))",
       .names = {{"D", d}, {"F", f}, {"v", roofline::kVmemOverMemory}, {"W", v5e.memory.value}, {"C8", v5e.int8.value}},
       .value = even_batch(v5e, d, f, vmem),
       .unit = "tokens",
       .book = "11"});
  return rows;
}

}  // namespace

std::vector<BookRow> roofline_rows() {
  std::vector<BookRow> rows = intensity_rows();
  for (BookRow& row : critical_batches()) rows.push_back(std::move(row));
  return rows;
}

std::vector<BookRow> chip_rows() {
  std::vector<BookRow> rows;
  for (const auto& some : {weight_rows(), pods_rows(), product_rows(), corner_rows(), offloaded_rows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace shardline::tools
