// Section 3: sharded arrays and collectives.

#include "collectives/schedule/traffic.h"
#include "roofline/machine/catalogue.h"
#include "roofline/price/collective_cost.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/notation.h"
#include "tools/book/book_rows.h"

namespace shardline::tools {
namespace {

using roofline::CostMode;
using roofline::Hardware;

Hardware in_book_limit(const std::string& chip, const std::string& mesh) {
  Hardware hardware = roofline::hardware_named(chip, AbstractMesh::parse(mesh), DType::bf16);
  hardware.cost_mode = CostMode::book_limit;
  return hardware;
}

/// The time to gather `whole` bytes over axes of these sizes. `rounds` is 2 for an AllReduce.
Seconds gather_time(const Hardware& hardware, double whole, const Axes& axes, const std::vector<Index>& ranks,
                    int rounds = 1) {
  double all = 1;
  for (const Index each : ranks) all *= static_cast<double>(each);
  const Bytes sent(rounds * whole * (1 - 1 / all));
  return roofline::collective_price({.ranks = ranks, .sent = sent, .rounds = rounds}, axes, hardware).time;
}

/// Bytes of an array in this layout on every rank of `mesh`.
double held(const std::string& layout, const Shape& shape, const AbstractMesh& mesh, double item) {
  const ParsedArray array = resolve(parse_array(layout), mesh);
  return item * static_cast<double>(element_count(largest_local_shape(shape, array.sharding, mesh)));
}

std::vector<BookRow> layout_rows() {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=8,Z=2");
  const double device = held("A[I_XY, J]", {128, 2048}, mesh, 1);
  const std::vector<std::pair<std::string, double>> names = {{"I", 128}, {"J", 2048}, {"X", 2}, {"Y", 8}};
  std::vector<std::pair<std::string, double>> with_z = names;
  with_z.emplace_back("Z", 2);
  return {{.section = "3.1",
           .quantity = "int8[128,2048] as A[I_XY, J] on {X:2, Y:8, Z:2}, per device",
           .formula = "I J / (X Y)",
           .names = names,
           .value = device,
           .unit = "B",
           .book = "16384"},
          {.section = "3.1",
           .quantity = "int8[128,2048] as A[I_XY, J] on {X:2, Y:8, Z:2}, all devices",
           .formula = "(I J / (X Y)) X Y Z",
           .names = with_z,
           .value = device * static_cast<double>(mesh.ranks()),
           .unit = "KiB",
           .book = "512"}};
}

/// Section 3.2: AllGather_Y of bf16[E_Y, F] on a v5e with 4 on axis Y.
std::vector<BookRow> gather_rows() {
  const double large = 2.0 * 2048 * 8192;
  const Hardware v5e = in_book_limit("v5e", "X=16,Y=4");
  const double link = v5e.link("Y").bandwidth.value;
  const double hop = v5e.link("Y").latency.value;
  return {{.section = "3.2",
           .quantity = "AllGather of bf16[2048,8192] on a v5e ring",
           .formula = "2 E F / (2 w)",
           .names = {{"E", 2048}, {"F", 8192}, {"w", link}},
           .value = gather_time(v5e, large, {"X"}, {16}).value,
           .unit = "us",
           .book = "377",
           .verdict = Verdict::rounding,
           .rounded = 34e6 / 9e10,
           .note = "the book rounds the array up to 34e6 B; an axis of 4 does not wrap on v5e, as the next row has it"},
          {.section = "3.2",
           .quantity = "AllGather of bf16[2048,8192] on a v5e line of 4: 3 hops",
           .formula = "3 (2 E F / 4) / w",
           .names = {{"E", 2048}, {"F", 8192}, {"w", link}},
           .value = gather_time(v5e, large, {"Y"}, {4}).value,
           .unit = "us",
           .book = "560",
           .note = "the authors measured 680 us"},
          {.section = "3.2",
           .quantity = "AllGather of bf16[256,256] on a v5e line of 4, bound by latency",
           .formula = "max(3 t, 3 (2 * 256 * 256 / 4) / w)",
           .names = {{"t", hop}, {"w", link}},
           .value = gather_time(v5e, 2.0 * 256 * 256, {"Y"}, {4}).value,
           .unit = "us",
           .book = "3",
           .note = "the authors measured about 8 us"}};
}

/// Exercises 3.1 to 3.3.
std::vector<BookRow> exercise_rows() {
  const AbstractMesh mesh = AbstractMesh::parse("X=4,Y=8,Z=2");
  const Shape shape = {64, 8};
  const double copies =
      held("A[I_X, J]", shape, mesh, 1) * static_cast<double>(mesh.ranks()) / static_cast<double>(element_count(shape));
  const Hardware v4p = in_book_limit("v4p", "X=4,Y=4,Z=4");
  const double link = v4p.link("X").bandwidth.value;
  const double hop = v4p.link("X").latency.value;
  const double whole = 2.0 * 1024 * 4096;
  const roofline::MessageWork small = roofline::message_work({.ranks = {4}, .sent = Bytes(192)}, {"X"}, v4p);
  return {{.section = "3.1ex",
           .quantity = "A[I_X, J, ...] on {X:4, Y:8, Z:2}: bytes of all chips / one copy",
           .formula = "X Y Z / X",
           .names = {{"X", 4}, {"Y", 8}, {"Z", 2}},
           .value = copies,
           .unit = "",
           .book = "16"},
          {.section = "3.2ex",
           .quantity = "AllGather_X of bf16[B_X, D_Y] on a v4p 4x4x4",
           .formula = "(2 B D / Y) / (2 w)",
           .names = {{"B", 1024}, {"D", 4096}, {"Y", 4}, {"w", link}},
           .value = gather_time(v4p, whole / 4, {"X"}, {4}).value,
           .unit = "us",
           .book = "23"},
          {.section = "3.2ex",
           .quantity = "AllGather_XY of bf16[B_X, D_Y] on a v4p 4x4x4",
           .formula = "2 B D / (2 * 2 w)",
           .names = {{"B", 1024}, {"D", 4096}, {"w", link}},
           .value = gather_time(v4p, whole, {"X", "Y"}, {4, 4}).value,
           .unit = "us",
           .book = "46"},
          {.section = "3.2ex",
           .quantity = "AllReduce_Z of bf16[B_X, D_Y]{U_Z} on a v4p 4x4x4",
           .formula = "2 (2 B D / (X Y)) / (2 w)",
           .names = {{"B", 1024}, {"D", 4096}, {"X", 4}, {"Y", 4}, {"w", link}},
           .value = gather_time(v4p, whole / 16, {"Z"}, {4}, 2).value,
           .unit = "us",
           .book = "11.6"},
          {.section = "3.3ex",
           .quantity = "hops of an AllGather of bf16[128] over a ring of 4",
           .formula = "X / 2",
           .names = {{"X", 4}},
           .value = small.messages,
           .unit = "hops",
           .book = "2"},
          {.section = "3.3ex",
           .quantity = "AllGather of bf16[128] over a ring of 4, bound by latency",
           .formula = "max(X t / 2, 2 * 128 / (2 w))",
           .names = {{"X", 4}, {"t", hop}, {"w", link}},
           .value = gather_time(v4p, 2.0 * 128, {"X"}, {4}).value,
           .unit = "us",
           .book = "2"}};
}

/// Bytes on the busiest link of a ring of p ranks, by `algorithm`, for an array of 2 p^2 elements.
/// The piece for another rank goes in halves if it may go either way.
double ring_traffic(collectives::Kind kind, collectives::Algorithm algorithm, Index p) {
  const Index larger = kind == collectives::Kind::all_to_all ? 2 * p : 2 * p * p;
  return static_cast<double>(collectives::traffic(kind, algorithm, {p}, larger, {1, 1}).wire_bytes);
}

double ratio_to_gather(collectives::Algorithm algorithm, Index p) {
  return ring_traffic(collectives::Kind::all_to_all, algorithm, p) /
         ring_traffic(collectives::Kind::all_gather, algorithm, p);
}

/// Exercise 3.10: AllToAll over AllGather.
std::vector<BookRow> all_to_all_rows() {
  const Index p = 16;
  const double ranks = 16;
  const Hardware v5p = in_book_limit("v5p", "X=16");
  const double bytes = 1e12;
  const Bytes sent(bytes / ranks * (1 - 1 / ranks));
  const Seconds time = roofline::collective_price({.ranks = {p}, .sent = sent, .scatters = true}, {"X"}, v5p).time;
  return {{.section = "3.10ex",
           .quantity = "AllToAll / AllGather on a ring of 16, one way round",
           .formula = "(p (p - 1) / 2 (V / p^2)) / ((p - 1) (V / p))",
           .names = {{"p", ranks}, {"V", bytes}},
           .value = ratio_to_gather(collectives::Algorithm::ring, p),
           .unit = "",
           .book = "0.5",
           .note = "bytes of the ring schedules"},
          {.section = "3.10ex",
           .quantity = "AllToAll / AllGather both ways round, p/2 whole hops",
           .formula = "(p^2 / 8 (V / p^2)) / (p / 2 (V / p))",
           .names = {{"p", ranks}, {"V", bytes}},
           .value = time / gather_time(v5p, bytes, {"X"}, {p}),
           .unit = "",
           .book = "0.25",
           .note = "prices in the book's limit"},
          {.section = "3.10ex",
           .quantity = "AllToAll / AllGather both ways round, no byte sent twice",
           .formula = "p / (4 (p - 1))",
           .names = {{"p", ranks}},
           .value = ratio_to_gather(collectives::Algorithm::bidirectional, p),
           .unit = "",
           .verdict = Verdict::exercise,
           .note = "bytes of the bidirectional schedules; 1/4 for large p"}};
}

}  // namespace

std::vector<BookRow> sharding_rows() {
  std::vector<BookRow> rows;
  for (const auto& some : {layout_rows(), gather_rows(), exercise_rows(), all_to_all_rows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace shardline::tools
