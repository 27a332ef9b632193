// Choices by price. The expected winner follows from the book's formulas, not from our prices.

#include "program/price/price.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "collectives/schedule/traffic.h"
#include "program/ir/print.h"
#include "program/ops/einsum.h"
#include "program/price/estimate.h"
#include "program/price/wire.h"
#include "program/product/product.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

using Sizes = std::map<std::string, Index>;

struct Priced {
  Product product;
  std::vector<Candidate> candidates;

  /// The first candidate with exactly these conversions.
  const ProgramPrice& by(const std::vector<std::string>& conversions) const {
    for (const Candidate& candidate : candidates) {
      std::vector<std::string> found;
      for (const Step& step : candidate.program.steps) {
        if (!communicates(step.kind)) continue;
        const std::string line = to_string(candidate.program, step);
        found.push_back(line.substr(line.find(" = ") + 3));
      }
      if (found == conversions) return candidate.price;
    }
    throw Error("no candidate has these conversions");
  }
};

Priced price_all(const std::string& text, const std::string& mesh_text, const Sizes& sizes,
                 const roofline::Hardware& hardware, const ProductTypes& types = {DType::bf16, DType::bf16}) {
  const Product product = make_product(parse_product(text), sizes, AbstractMesh::parse(mesh_text), types);
  std::vector<Candidate> candidates = product.candidates(hardware);
  return {product, std::move(candidates)};
}

roofline::Hardware chip(const std::string& name, const std::string& mesh) {
  return roofline::hardware_named(name, AbstractMesh::parse(mesh), DType::bf16);
}

/// Book exercise 3.4, X[B, D] * Y[D_X, F] -> Z[B, F] in bf16: gathering the weight takes max(2BDF / C, 2DF /
/// W), reducing the output max(2BDF / XC, 4BF / W). If these formulas differ clearly, our prices agree on the
/// lower one.
TEST(Price, GatherTheWeightOrReduceTheOutput) {
  constexpr double kFlops = 1.97e14;
  constexpr double kBothWays = 9e10;
  constexpr Index kF = 8192;
  int gathers = 0;
  int reductions = 0;
  const std::string mesh = "X=16";
  for (const Index b : {512, 2048, 8192, 65536, 262144}) {
    for (const Index d : {512, 2048, 8192, 32768}) {
      const Priced priced =
          price_all("In[B, D] * W[D_X, F] -> Z[B, F]", mesh, {{"B", b}, {"D", d}, {"F", kF}}, chip("v5e", mesh));
      const double flops = 2.0 * static_cast<double>(b) * static_cast<double>(d) * kF;
      const double gather = std::max(flops / kFlops, 2.0 * static_cast<double>(d) * kF / kBothWays);
      const double reduce = std::max(flops / 16 / kFlops, 4.0 * static_cast<double>(b) * kF / kBothWays);
      if (std::max(gather / reduce, reduce / gather) < 1.3) continue;
      const double ours_gather = priced.by({"AllGather_X(W[D_X, F])"}).total.value;
      const double ours_reduce = priced.by({"AllReduce_X(Z[B, F]{U_X}) over wire hop"}).total.value;
      EXPECT_EQ(ours_gather < ours_reduce, gather < reduce) << "B=" << b << " D=" << d;
      (gather < reduce ? gathers : reductions)++;
    }
  }
  EXPECT_GE(gathers, 3);
  EXPECT_GE(reductions, 3);
}

/// The turning point if links bind: D = 2B, moved a little by the additions, for every X.
TEST(Price, TurnsAtTwiceTheBatch) {
  for (const char* mesh : {"X=4", "X=8", "X=16", "X=28"}) {
    const roofline::Hardware v5p = chip("v5p", mesh);
    const auto reduces = [&](Index d) {
      const Priced priced =
          price_all("In[B, D] * W[D_X, F] -> Z[B, F]", mesh, {{"B", 1000}, {"D", d}, {"F", 1 << 20}}, v5p);
      return priced.by({"AllReduce_X(Z[B, F]{U_X}) over wire hop"}).total < priced.by({"AllGather_X(W[D_X, F])"}).total;
    };
    EXPECT_FALSE(reduces(1900)) << mesh;
    EXPECT_TRUE(reduces(2600)) << mesh;
  }
}

/// Case 4 with result C[I_X, K], on a ring of 16 where links bind. A gather or a reduce_scatter takes V / W, an
/// all_to_all a quarter of it. Gathering B takes JK. Gathering A and moving C to its rows takes IJ + IK / 4.
/// Sharding J in both takes (IJ + JK) / 4 + IK.
TEST(Price, CaseFourGathersWhatIsSmaller) {
  const std::string mesh = "X=16";
  const auto first = [&](const Sizes& sizes) {
    const Priced priced = price_all("A[I_X, J] * B[J, K_X] -> C[I_X, K]", mesh, sizes, chip("v5e", mesh));
    const RankProgram& program = priced.candidates.at(0).program;
    return to_string(program, program.steps.at(0));
  };
  EXPECT_EQ(first({{"I", 4096}, {"J", 4096}, {"K", 1024}}), "B[J, K] = AllGather_X(B[J, K_X])");
  EXPECT_EQ(first({{"I", 1024}, {"J", 4096}, {"K", 8192}}), "A[I, J] = AllGather_X(A[I_X, J])");
  EXPECT_EQ(first({{"I", 1024}, {"J", 32768}, {"K", 1024}}), "A[I, J_X] = AllToAll_X(A[I_X, J])");
}

/// J = 3K on two ranks: gathering A moves 3/2 IK elements, reducing C moves IK. A in bf16 is half as wide as C.
TEST(Price, CountsBytesNotElements) {
  const std::string text = "A[I, J_X] * B[J, K] -> C[I, K]";
  const Sizes sizes{{"I", 64}, {"J", 96}, {"K", 32}};
  const roofline::Hardware wires = bandwidth_bound(AbstractMesh::parse("X=2"));
  const auto last = [&](const ProductTypes& types) {
    const Priced priced = price_all(text, "X=2", sizes, wires, types);
    const RankProgram& program = priced.candidates.at(0).program;
    return to_string(program, program.steps.back());
  };
  EXPECT_EQ(last(ProductTypes()), "C[I, K] = AllReduce_X(C[I, K]{U_X})");
  EXPECT_EQ(last(cpu_types(DType::bf16)), "C[I, K] = A[I, J] *_J B[J, K]");
}

/// Over a network whose links cost nothing, an AllReduce of n f32 over p ranks adds n (1 - 1/p) elements. For
/// each it reads two elements and writes one.
TEST(Price, ReductionsPriceTheirAdditions) {
  const AbstractMesh mesh = AbstractMesh::parse("X=4");
  roofline::Hardware hardware = bandwidth_bound(mesh);
  hardware.links["X"].bandwidth = BytesPerSecond(1e30);
  hardware.links["X"].frees_cores = true;
  hardware.memory = BytesPerSecond(1e6);
  const Priced priced =
      price_all("A[I, J_X] * B[J_X, K] -> C[I, K]", "X=4", {{"I", 8}, {"J", 4}, {"K", 16}}, hardware, ProductTypes());
  EXPECT_NEAR(priced.by({"AllReduce_X(C[I, K]{U_X})"}).comms.value, 3 * 4 * (8 * 16 * 0.75) / 1e6, 1e-12);
}

/// Blocks of an inner dim in messages are unpacked. If ranks read each other's arrays, they are not. Then the
/// one gather of case 4 costs the bytes read from the other rank and the copy of the own bytes. On a network
/// this copy runs beside the wire. Additions need no further pass: they read two arrays and write one.
TEST(Price, RanksThatShareMemoryTakeOnePass) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2");
  const Sizes sizes{{"I", 512}, {"J", 512}, {"K", 512}};
  const ProductTypes types;
  const double half = 512 * 256 * 4;
  for (const bool across_nodes : {false, true}) {
    const roofline::Hardware cpu =
        roofline::hardware_named("cpu", mesh, types.products, across_nodes ? std::set<Axis>{"X"} : std::set<Axis>{});
    const Priced priced = price_all("A[I_X, J] * B[J, K_X] -> C[I_X, K]", "X=2", sizes, cpu, types);
    const roofline::Link& link = cpu.link("X");
    const double copy = 2 * half / cpu.memory.value;
    const double moving = across_nodes ? half / link.bandwidth.value + copy : 2 * copy;
    EXPECT_NEAR(priced.by({"AllGather_X(B[J, K_X])"}).comms.value, cpu.overhead.value + link.latency.value + moving,
                1e-9);
  }
  EXPECT_EQ(lines(price_all("A[I_X, J] * B[J, K_X] -> C[I_X, K]", "X=2", sizes,
                            roofline::hardware_named("cpu", mesh, types.products), types)
                      .candidates.at(0)
                      .program)
                .at(0),
            "B[J, K] = AllGather_X(B[J, K_X])");
  const roofline::Hardware cpu = roofline::hardware_named("cpu", mesh, types.products);
  const Priced reduced = price_all("A[I, J_X] * B[J_X, K] -> C[I, K]", "X=2", sizes, cpu, types);
  EXPECT_NEAR(reduced.by({"AllReduce_X(C[I, K]{U_X})"}).comms.value,
              cpu.overhead.value + 2 * cpu.link("X").latency.value + (3 + 2) * half / cpu.memory.value, 1e-9);
}

/// The same steps on machines with different overlap.
TEST(Price, ResourcesAddOrOverlap) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  roofline::Hardware hardware = bandwidth_bound(mesh);
  hardware.matmul = FlopsPerSecond(1e6);
  const auto both_gathers = [&] {
    return price_all("A[I_X, J] * B[J, K_Y] -> C[I, K]", "X=2,Y=2", {{"I", 12}, {"J", 8}, {"K", 4}}, hardware)
        .by({"AllGather_X(A[I_X, J])", "AllGather_Y(B[J, K_Y])"});
  };
  const double math = 2 * 12 * 8 * 4 / 1e6;
  const double a = 2 * 12 * 8 * 0.5 / 1e3;
  const double b = 2 * 8 * 4 * 0.5 / 1e3;
  EXPECT_NEAR(both_gathers().total.value, math + a + b, 1e-9);  // all need the cores
  for (const Axis& axis : mesh.axes()) hardware.links[axis].frees_cores = true;
  EXPECT_NEAR(both_gathers().total.value, a, 1e-9);  // each axis on its own links
  for (const Axis& axis : mesh.axes()) hardware.links[axis].resource = "one";
  EXPECT_NEAR(both_gathers().total.value, a + b, 1e-9);  // they take turns on one resource
  hardware.matmul = FlopsPerSecond(1e3);
  EXPECT_NEAR(both_gathers().total.value, 1e3 * math, 1e-9);
  EXPECT_NEAR(both_gathers().sum.value, 1e3 * math + a + b, 1e-9);
}

/// The closed form of the bytes on the wire equals the bytes of the `pairwise` schedules.
TEST(Price, WireTrafficIsThatOfTheSchedules) {
  struct Way {
    StepKind step;
    collectives::Kind kind;
    const char* from;
    const char* to;
  };
  const Way ways[] = {{StepKind::all_gather, collectives::Kind::all_gather, "A[I, J_X]", "A[I, J]"},
                      {StepKind::reduce_scatter, collectives::Kind::reduce_scatter, "A[I, J]{U_X}", "A[I, J_X]"},
                      {StepKind::all_reduce, collectives::Kind::all_reduce, "A[I, J]{U_X}", "A[I, J]"},
                      {StepKind::all_to_all, collectives::Kind::all_to_all, "A[I_X, J]", "A[I, J_X]"}};
  for (const Way& way : ways) {
    for (Index ranks = 1; ranks <= 9; ++ranks) {
      for (const Index elements : {0, 1, 5, 8, 9, 23, 64}) {
        const Index rows = way.step == StepKind::all_to_all ? ranks : 1;  // every rank has one of them
        RankProgram program;
        program.mesh = AbstractMesh({{"X", ranks}});
        program.program.arrays.push_back({.name = "A", .dims = {"I", "J"}, .shape = {rows, elements}});
        program.versions = {{0, parse_array(way.from).sharding, {}, true}, {0, parse_array(way.to).sharding, {}, true}};
        Step step;
        step.kind = way.step;
        step.operands = {0};
        step.results = {1};
        step.axes = {"X"};
        step.from_dim = way.step == StepKind::all_to_all ? 0 : 1;
        step.to_dim = 1;
        const Moved moves = moved(program, step);
        EXPECT_EQ((collectives::Traffic{moves.steps, moves.sent}),
                  collectives::traffic(way.kind, collectives::Algorithm::pairwise, {ranks}, elements, {1, 1}))
            << name_of(way.kind) << " of " << elements << " on " << ranks;
      }
    }
  }
}

/// Nothing moves, so the steps run one after the other: the part of A that a rank of 16 copies (4096 x 4096 in
/// bf16), then its product of 256 x 4096 by 4096 x 16. On v5e memory binds both. It is the cheapest way: the
/// others read all of A.
TEST(Price, ASliceCostsTheBlockThatIsKept) {
  constexpr double kMemory = 8.1e11;
  constexpr double kBlock = 2.0 * 256 * 4096;
  constexpr double kSlice = 2 * kBlock / kMemory;
  constexpr double kProduct = (kBlock + 2.0 * 4096 * 16 + 2.0 * 256 * 16) / kMemory;
  const std::string mesh = "X=16";
  const Priced priced =
      price_all("A[I, J] * B[J, K] -> C[I_X, K]", mesh, {{"I", 4096}, {"J", 4096}, {"K", 16}}, chip("v5e", mesh));
  const Candidate& first = priced.candidates.at(0);
  EXPECT_EQ(lines(first.program),
            (std::vector<std::string>{"A[I_X, J] = Slice_X(A[I, J])", "C[I_X, K] = A[I_X, J] *_J B[J, K]"}));
  EXPECT_NEAR(first.price.total.value, kSlice + kProduct, 1e-12);
  EXPECT_NEAR(first.price.total.value, 8e-6, 0.1e-6);
  for (std::size_t i = 1; i < priced.candidates.size(); ++i) {
    const std::vector<Step>& steps = priced.candidates[i].program.steps;
    const bool slices_a = steps[0].kind == StepKind::slice && steps[0].operands == first.program.steps[0].operands;
    EXPECT_TRUE(slices_a || priced.candidates[i].price.total.value > 2.0 * 4096 * 4096 / kMemory) << i;
  }
}

/// The same if B is the large array, and if both are sliced on J because A is sharded on J. The kept bytes are
/// worked out by hand.
TEST(Price, SlicesOfOtherOperands) {
  constexpr double kMemory = 8.1e11;
  const std::string mesh = "X=16";
  const Priced wide =
      price_all("A[I, J] * B[J, K] -> C[I, K_X]", mesh, {{"I", 16}, {"J", 4096}, {"K", 4096}}, chip("v5e", mesh));
  EXPECT_EQ(lines(wide.candidates.at(0).program).at(0), "B[J, K_X] = Slice_X(B[J, K])");
  constexpr double kBlock = 2.0 * 4096 * 256;
  EXPECT_NEAR(wide.candidates.at(0).price.total.value,
              (2 * kBlock + kBlock + 2.0 * 16 * 4096 + 2.0 * 16 * 256) / kMemory, 1e-12);
  const Priced summed =
      price_all("A[I, J_X] * B[J, K] -> C[I, K]{U_X}", mesh, {{"I", 16}, {"J", 4096}, {"K", 4096}}, chip("v5e", mesh));
  EXPECT_EQ(lines(summed.candidates.at(0).program).at(0), "B[J_X, K] = Slice_X(B[J, K])");
  EXPECT_NEAR(summed.candidates.at(0).price.total.value,
              (2 * kBlock + kBlock + 2.0 * 16 * 256 + 2.0 * 16 * 4096) / kMemory, 1e-12);
}

/// Every layout over {X:2} of an array of two dims, also unreduced ones.
std::vector<std::string> layouts(const std::string& name, const std::string& first, const std::string& second) {
  return {fmt::format("{}[{}, {}]", name, first, second), fmt::format("{}[{}_X, {}]", name, first, second),
          fmt::format("{}[{}, {}_X]", name, first, second), fmt::format("{}[{}, {}]{{U_X}}", name, first, second)};
}

/// The price of the arithmetic of y = x[B, D] w, where y has the dims of `out` and w those of `weights`. Products of
/// matrices have another rate than thin ones, and turned ones a third.
double math_of_product(DType dtype, const Sizes& sizes, const std::vector<std::string>& out,
                       const std::vector<std::string>& weights = {"D", "F"}) {
  roofline::Hardware hardware = roofline::hardware_named("cpu", AbstractMesh(), DType::f32);
  hardware.gemm = roofline::GemmRates({64}, {FlopsPerSecond(1e9)});
  hardware.kernels[std::string(roofline::kThinProduct)] = FlopsPerSecond(1e6);
  hardware.kernels[std::string(roofline::kTurnedThinProduct)] = FlopsPerSecond(2e6);
  Program p;
  p.dtype = dtype;
  p.sizes = sizes;
  const ArrayId x = p.add_input("x", {"B", "D"}, Role::activation);
  const ArrayId w = p.add_input("w", weights, Role::parameter);
  p.outputs = {einsum(p, "y", {x, w}, out)};
  Declaration declaration;
  for (const ArrayId input : p.inputs) declaration.layouts[input] = Sharding::replicated(2);
  return estimate(partition(p, AbstractMesh(), declaration), hardware)[0].price.math.value;
}

/// Up to 16 rows beside a matrix go by the rate of thin products; in f64, and with more rows, by that of products.
TEST(Price, FewRowsAreAThinProduct) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    for (const Index rows : {1, 16, 17}) {
      const double flops = 2.0 * static_cast<double>(rows) * 32 * 48;
      const bool thin = dtype != DType::f64 && rows <= 16;
      if (rows == 1 && !thin) continue;  // no product of matrices
      EXPECT_DOUBLE_EQ(math_of_product(dtype, {{"B", rows}, {"D", 32}, {"F", 48}}, {"B", "F"}),
                       flops / (thin ? 1e6 : 1e9));
      EXPECT_DOUBLE_EQ(math_of_product(dtype, {{"B", rows}, {"D", 32}, {"F", 48}}, {"B", "F"}, {"F", "D"}),
                       flops / (thin ? 2e6 : 1e9));
    }
  }
}

/// Rows are those of the result as it lies: few columns are no thin product, unless the result lies transposed.
TEST(Price, FewColumnsAreNoThinProduct) {
  constexpr double kFlops = 2.0 * 2048 * 32 * 8;
  const Sizes few_columns{{"B", 2048}, {"D", 32}, {"F", 8}};
  const Sizes few_rows{{"B", 8}, {"D", 32}, {"F", 2048}};
  EXPECT_DOUBLE_EQ(math_of_product(DType::f32, few_columns, {"B", "F"}), kFlops / 1e9);
  EXPECT_DOUBLE_EQ(math_of_product(DType::f32, few_columns, {"F", "B"}), kFlops / 2e6);
  EXPECT_DOUBLE_EQ(math_of_product(DType::bf16, few_rows, {"B", "F"}), kFlops / 1e6);
  EXPECT_DOUBLE_EQ(math_of_product(DType::bf16, few_rows, {"F", "B"}), kFlops / 1e9);
  // A vector is a row, wherever it stands, and is multiplied with the rows of x here.
  EXPECT_DOUBLE_EQ(math_of_product(DType::f32, {{"B", 2048}, {"D", 32}, {"F", 1}}, {"B", "F"}), kFlops / 8 / 2e6);
}

/// Operands in bf16 beside a result in f32 count 2 bytes an element, and the result 4.
TEST(Price, AProductCountsEachArrayInItsType) {
  Program p;
  p.dtype = DType::bf16;
  p.sizes = {{"B", 20}, {"D", 32}, {"F", 48}};
  const ArrayId x = p.add_input("x", {"B", "D"}, Role::activation);
  const ArrayId w = p.add_input("w", {"D", "F"}, Role::parameter);
  const ArrayId y = einsum(p, "y", {x, w}, {"B", "F"});
  p.array(y).dtype = DType::f32;
  p.outputs = {y};
  Declaration declaration;
  for (const ArrayId input : p.inputs) declaration.layouts[input] = Sharding::replicated(2);
  const roofline::Hardware hardware = roofline::hardware_named("cpu", AbstractMesh(), DType::bf16);
  const std::vector<StepEstimate> steps = estimate(partition(p, AbstractMesh(), declaration), hardware);
  EXPECT_EQ(steps[0].bytes, Bytes(2 * (20 * 32 + 32 * 48) + 4 * 20 * 48));
}

/// If nothing overlaps, the cheapest program of a chain costs as much as the cheapest program over all fixed
/// layouts of the array between its two products.
TEST(Price, TheSearchOverAChainIsExact) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2");
  const roofline::Hardware hardware = bandwidth_bound(mesh);
  for (const Sizes& sizes : {Sizes{{"B", 8}, {"D", 6}, {"F", 4}}, Sizes{{"B", 2}, {"D", 4}, {"F", 16}},
                             Sizes{{"B", 32}, {"D", 4}, {"F", 10}}}) {
    for (const std::string& in : layouts("In", "B", "D")) {
      for (const std::string& weight : layouts("V", "D", "F")) {
        const std::string text = fmt::format("{} * {} * W[F_X, D] -> Out[B, D]", in, weight);
        Product product = make_product(parse_product(text), sizes, mesh);
        const float free = static_cast<float>(product.candidates(hardware).at(0).price.total.value);
        float best = std::numeric_limits<float>::infinity();
        const ArrayId between = product.program.operations[0].results[0];
        for (const std::string& layout : layouts("T1", "B", "F")) {
          product.declaration.layouts[between] = parse_array(layout).sharding;
          const auto candidates = product.candidates(hardware);
          best = std::min(best, static_cast<float>(candidates.at(0).price.total.value));
        }
        EXPECT_FLOAT_EQ(free, best) << text;
      }
    }
  }
}

/// The book's FSDP + TP forward pass (section 5.1.4) is the cheapest way through its MLP.
TEST(Price, TheChainOfTheBook) {
  const std::string mesh = "X=4,Y=4";
  const Priced priced = price_all("In[B_X, D_Y] * W_in[D_X, F_Y] * W_out[F_Y, D_X] -> Out[B_X, D_Y]", mesh,
                                  {{"B", 4096}, {"D", 1024}, {"F", 4096}}, chip("v5e", mesh), ProductTypes());
  EXPECT_EQ(
      lines(priced.candidates.at(0).program),
      (std::vector<std::string>{
          "In[B_X, D] = AllGather_Y(In[B_X, D_Y])", "W_in[D, F_Y] = AllGather_X(W_in[D_X, F_Y])",
          "T1[B_X, F_Y] = In[B_X, D] *_D W_in[D, F_Y]", "W_out[F_Y, D] = AllGather_X(W_out[F_Y, D_X])",
          "Out[B_X, D]{U_Y} = T1[B_X, F_Y] *_F W_out[F_Y, D]", "Out[B_X, D_Y] = ReduceScatter_Y(Out[B_X, D]{U_Y})"}));
}

}  // namespace
}  // namespace shardline
