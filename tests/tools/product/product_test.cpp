// Products of sharded arrays from notation to the blocks of the result. Compares every legal pair of operand
// shardings and every wanted layout with a dense product by plain loops. Elements are small integers, so every
// order of summation is exact and results must be equal. Four ranks in one job: all of them as {X:2, Y:2},
// three of them as {X:3}.

#include "program/product/product.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "program/ir/print.h"
#include "program/partition/check.h"
#include "program/run/execute.h"
#include "program/run/multiply.h"
#include "runtime/base/counter_rng.h"
#include "runtime/layout/blocks.h"
#include "tests/program/prices.h"

namespace shardline {
namespace {

using Sizes = std::map<std::string, Index>;

Index whole_number(const std::string& stream, Index i) { return CounterRng(7, stream).below(i, 9) - 4; }

/// Element `i` of an operand's part at position `q` over the unreduced axes.
double part(const std::string& name, Index i, Index q) {
  return static_cast<double>(whole_number(fmt::format("{}{}", name, q), i));
}

/// The whole operand: the sum of its parts.
std::vector<double> dense(const Array& array, Index parts) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(array.shape)), 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (Index q = 0; q < parts; ++q) elements[i] += part(array.name, static_cast<Index>(i), q);
  }
  return elements;
}

/// The dense product, by a loop over every combination of positions of all dims.
Tensor dense_product(const Product& product) {
  const Program& program = product.program;
  const auto operand = [&](ArrayId id) {
    return dense(program.array(id), product.mesh.size(product.sharding(id).unreduced));
  };
  std::vector<std::vector<double>> factors;
  for (const ArrayId id : product.operands) factors.push_back(operand(id));
  Tensor c = Tensor::zeros(DType::f64, program.array(product.result).shape);
  std::map<std::string, Index> at;
  for (const auto& [dim, size] : program.sizes) at[dim] = 0;
  const auto place = [&](ArrayId id) {
    Index index = 0;
    for (const std::string& dim : program.array(id).dims) index = index * program.sizes.at(dim) + at.at(dim);
    return index;
  };
  for (bool more = true; more;) {
    double term = 1;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      term *= factors[i][static_cast<std::size_t>(place(product.operands[i]))];
    }
    c.view<double>()[place(product.result)] += term;
    more = false;
    for (auto& [dim, position] : at) {
      if (++position < program.sizes.at(dim)) {
        more = true;
        break;
      }
      position = 0;
    }
  }
  return c;
}

/// Runs products on a mesh and compares this rank's block with the dense product.
class Bench {
 public:
  explicit Bench(const Mesh& mesh) : mesh_(mesh), engine_(mesh) {}

  Product product(const std::string& text, const Sizes& sizes) const {
    return make_product(parse_product(text), sizes, mesh_.axes(), {DType::f64, DType::f64});
  }

  /// Collective over the mesh: the program is right step by step, and also with every possible fusion of a
  /// collective and a product.
  void expect_right(const Product& product, const RankProgram& program) {
    check(program);
    expect_right(product, compiled(program));
    const auto fused = compile(program, {.scheduling = {{.fuse = ScheduleOptions::Fuse::always, .panel = Flops(50)}},
                                         .prices = bandwidth_bound(mesh_.axes())});
    if (fused->schedule().actions == in_order(program).actions) return;
    ++fused_;
    expect_right(product, fused);
  }

  /// Number of programs that ran with a fusion.
  int fused() const { return fused_; }

  void expect_right(const Product& product, const std::shared_ptr<const Compiled>& compiled) {
    const Sharding& sharding = product.sharding(product.result);
    const Tensor expected = expected_product(product);
    const std::vector<Range> held = box(expected.shape(), sharding, mesh_.axes(), mesh_.rank());
    Tensor ours = run(product, compiled);
    if (!sharding.unreduced.empty()) ours = settled(product, ours).slice(held);
    const Tensor reference = expected.slice(held);
    ASSERT_EQ(ours.shape(), reference.shape());
    for (Index i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours.view<double>()[i], reference.view<double>()[i])
          << product.to_string() << " on " << mesh_.axes().to_string() << ": element " << i
          << " of the block; program:\n  " << fmt::format("{}", fmt::join(lines(compiled->program()), "\n  "));
    }
  }

  /// Collective over the mesh: both products give the same blocks.
  void expect_equal(const Product& one, const Product& other) {
    const Tensor a = run(one, compiled(candidates(one).at(0).program));
    const Tensor b = run(other, compiled(candidates(other).at(0).program));
    ASSERT_EQ(a.shape(), b.shape());
    for (Index i = 0; i < a.size(); ++i) EXPECT_EQ(a.view<double>()[i], b.view<double>()[i]) << i;
  }

  std::vector<Candidate> candidates(const Product& product) const {
    return product.candidates(bandwidth_bound(mesh_.axes()));
  }

  /// The winners for two opposite sets of prices.
  void expect_right(const std::string& text, const Sizes& sizes) {
    const Product made = product(text, sizes);
    EXPECT_EQ(made.to_string(), text);  // the layouts are the written ones
    const RankProgram fewest_bytes = candidates(made).at(0).program;
    const RankProgram fewest_steps = made.candidates(latency_bound(mesh_.axes())).at(0).program;
    expect_right(made, fewest_bytes);
    if (lines(fewest_steps) != lines(fewest_bytes)) expect_right(made, fewest_steps);
  }

 private:
  /// Without fusion.
  static std::shared_ptr<const Compiled> compiled(const RankProgram& program) { return compile(program, {}); }

  /// This rank's block of the result.
  Tensor run(const Product& product, const std::shared_ptr<const Compiled>& compiled) {
    Executor executor(compiled, engine_);
    for (const ArrayId operand : product.operands) executor.set(operand, block(product, operand));
    executor.run();
    return executor.get(product.result).clone();
  }

  Tensor block(const Product& product, ArrayId id) const {
    const Array& array = product.program.array(id);
    Sharding parts = product.sharding(id);
    const Index position = mesh_.axes().position_in_group(mesh_.rank(), parts.unreduced);
    parts.unreduced.clear();
    return DistTensor::make(mesh_, {array.name, array.dims, array.shape, parts, DType::f64},
                            [&](Index i) { return part(array.name, i, position); })
        .local();
  }

  Tensor settled(const Product& product, const Tensor& owed) const {
    const Array& c = product.program.array(product.result);
    return DistTensor::from_local(mesh_, {c.name, c.dims, c.shape, product.sharding(product.result), DType::f64}, owed)
        .gather();
  }

  /// The dense product depends only on sizes and the number of the operands' parts, not on layouts.
  const Tensor& expected_product(const Product& product) {
    std::string key;
    for (const ArrayId id : product.operands) {
      key += fmt::format("{} {} ", to_string(product.program.array(id)), product.sharding(id).unreduced.size());
    }
    for (const auto& [dim, size] : product.program.sizes) key += fmt::format("{}={} ", dim, size);
    key += to_string(product.program.array(product.result));
    auto found = expected_.find(key);
    if (found == expected_.end()) found = expected_.emplace(key, dense_product(product)).first;
    return found->second;
  }

  const Mesh& mesh_;
  collectives::Engine engine_;
  int fused_ = 0;
  std::map<std::string, Tensor> expected_;
};

/// Layouts of a matrix over {X:2, Y:2}. Each dim is sharded over nothing, X, Y, XY or YX: "A[I_XY, J]".
std::vector<std::string> matrices(const std::string& name, const std::string& first, const std::string& second) {
  constexpr std::array<std::array<const char*, 2>, 11> kAxes{{{"", ""},
                                                              {"", "_X"},
                                                              {"", "_Y"},
                                                              {"", "_XY"},
                                                              {"", "_YX"},
                                                              {"_X", ""},
                                                              {"_X", "_Y"},
                                                              {"_Y", ""},
                                                              {"_Y", "_X"},
                                                              {"_XY", ""},
                                                              {"_YX", ""}}};
  std::vector<std::string> all;
  for (const auto& [on_first, on_second] : kAxes) {
    all.push_back(fmt::format("{}[{}{}, {}{}]", name, first, on_first, second, on_second));
  }
  return all;
}

/// Layouts over {X:3}. The last one is unreduced over X.
std::vector<std::string> matrices_with_debt(const std::string& name, const std::string& first,
                                            const std::string& second) {
  return {fmt::format("{}[{}, {}]", name, first, second), fmt::format("{}[{}_X, {}]", name, first, second),
          fmt::format("{}[{}, {}_X]", name, first, second), fmt::format("{}[{}, {}]{{U_X}}", name, first, second)};
}

class ProductTest : public testing::Test {
 protected:
  const mpi::Communicator world_ = mpi::Communicator::world();
  const Mesh square_{AbstractMesh::parse("X=2,Y=2"), world_};
};

/// A debug build derives programs some twenty times slower, so it takes every seventh triple. 7 and 11 share no
/// factor, so all layouts of each array still occur.
#ifdef NDEBUG
constexpr int kStride = 1;
#else
constexpr int kStride = 7;
#endif

TEST_F(ProductTest, EveryPairOfShardingsOnTwoAxes) {
  Bench bench(square_);
  int count = 0;
  for (const std::string& a : matrices("A", "I", "J")) {
    for (const std::string& b : matrices("B", "J", "K")) {
      for (const std::string& c : matrices("C", "I", "K")) {
        if (count++ % kStride != 0) continue;
        bench.expect_right(fmt::format("{} * {} -> {}", a, b, c), {{"I", 5}, {"J", 7}, {"K", 6}});
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_EQ(count, 1331);
  EXPECT_GT(bench.fused(), 1000 / kStride) << "programs with a collective matmul in them";
}

TEST_F(ProductTest, EveryPairOfShardingsAndDebtsOnThreeRanks) {
  const mpi::Communicator part = world_.split(world_.rank() < 3 ? 0 : 1, world_.rank());
  if (world_.rank() == 3) return;
  const Mesh line(AbstractMesh::parse("X=3"), part);
  Bench bench(line);
  int legal = 0;
  int refused = 0;
  for (const std::string& a : matrices_with_debt("A", "I", "J")) {
    for (const std::string& b : matrices_with_debt("B", "J", "K")) {
      for (const std::string& c : matrices_with_debt("C", "I", "K")) {
        const std::string text = fmt::format("{} * {} -> {}", a, b, c);
        const bool operand_owes = (a + b).find("U_X") != std::string::npos || (a + b).find("J_X") != std::string::npos;
        if (c.find("U_X") != std::string::npos && !operand_owes) {
          EXPECT_THROW(bench.product(text, {{"I", 5}, {"J", 7}, {"K", 11}}), UsageError) << text;
          ++refused;
          continue;
        }
        bench.expect_right(text, {{"I", 5}, {"J", 7}, {"K", 11}});
        if (HasFatalFailure()) return;
        ++legal;
      }
    }
  }
  EXPECT_EQ(legal, 60);
  EXPECT_EQ(refused, 4);  // neither A nor B is unreduced or sharded on J: each is whole or sharded on its free dim
}

TEST_F(ProductTest, SizesSmallerThanTheAxes) {
  Bench bench(square_);
  const std::vector<std::string> products{
      "A[I, J_XY] * B[J_XY, K] -> C[I, K]", "A[I_XY, J] * B[J, K_XY] -> C[I_X, K_Y]",
      "A[I_X, J_Y] * B[J_Y, K_X] -> C[I_YX, K]", "A[I_XY, J] * B[J_YX, K] -> C[I, K_XY]",
      "A[I, J]{U_X} * B[J, K_Y] -> C[I_X, K_Y]"};
  for (const Sizes& sizes : {Sizes{{"I", 1}, {"J", 1}, {"K", 1}}, Sizes{{"I", 3}, {"J", 1}, {"K", 2}}}) {
    for (const std::string& text : products) bench.expect_right(text, sizes);
  }
}

TEST_F(ProductTest, MoreAndFewerDimsThanAMatrix) {
  Bench bench(square_);
  const Sizes sizes{{"B", 3}, {"T", 5}, {"D", 6}, {"F", 7}, {"H", 2}};
  for (const char* text : {
           "P[B_X, T, D] * Q[B_X, D, F_Y] -> R[B_X, T, F_Y]",  // B is a batch dim
           "P[B_X, T, D] * Q[B_Y, D, F] -> R[T_X, F, B]",
           "P[B, T_X, D_Y] * Q[B, D_Y, F_X] -> R[F_X, B_Y, T]",
           "P[T, D_X, H_Y] * Q[H_Y, F, D_X] -> R[T, F]",  // sums over two dims
           "P[T, D_X, H_Y] * Q[D_Y, F, H_X] -> R[F_XY, T]",
           "P[D_X] * Q[D_X] -> R[]",
           "P[T_X] * Q[F_Y] -> R[F_X, T_Y]",
           "P[] * Q[F_XY] -> R[F]",
       }) {
    Sizes used;
    const ParsedProduct parsed = parse_product(text);
    for (const ParsedArray& operand : parsed.operands) {
      for (const std::string& dim : operand.dims) used[dim] = sizes.at(dim);
    }
    bench.expect_right(text, used);
  }
}

/// The oracle multiplies all operands at once, so here a dim that a chain uses twice has two names. The test
/// compares this with the notation that uses one name.
TEST_F(ProductTest, EveryCandidateOfAChain) {
  Bench bench(square_);
  const Sizes sizes{{"B", 5}, {"D", 3}, {"E", 3}, {"F", 6}};
  int count = 0;
  for (const char* text : {"In[B_X, D_Y] * V[D_X, F_Y] * W[F_Y, E_X] -> Out[B_X, E_Y]",
                           "In[B, D]{U_Y} * V[D_X, F] * W[F_XY, E] -> Out[B, E]{U_X}",
                           "In[B, D_XY] * V[B_Y, D, F_X] * W[B, F, E] -> Out[B_X, E]"}) {
    const Product product = bench.product(text, sizes);
    const std::vector<Candidate> candidates = bench.candidates(product);
    for (const Candidate& candidate : candidates) bench.expect_right(product, candidate.program);
    if (HasFatalFailure()) return;
    count += static_cast<int>(candidates.size());
  }
  EXPECT_GT(count, 50);
}

TEST_F(ProductTest, ADimThatALaterOperandBringsAgain) {
  Bench bench(square_);
  const Product twice =
      bench.product("In[B_X, D_Y] * V[D_X, F_Y] * W[F_Y, D_X] -> Out[B_X, D_Y]", {{"B", 5}, {"D", 3}, {"F", 6}});
  const Product apart = bench.product("In[B_X, D_Y] * V[D_X, F_Y] * W[F_Y, E_X] -> Out[B_X, E_Y]",
                                      {{"B", 5}, {"D", 3}, {"E", 3}, {"F", 6}});
  bench.expect_equal(twice, apart);
}

TEST_F(ProductTest, ChainsOfFourAndBatchDims) {
  Bench bench(square_);
  bench.expect_right("A[I_X, J] * B[J, K_Y] * C[K_X, L] * D[L, M_Y] -> E[I_Y, M_X]",
                     {{"I", 3}, {"J", 4}, {"K", 5}, {"L", 2}, {"M", 6}});
  bench.expect_right("P[B_X, T, D] * Q[B, D_Y, F] * S[B, F, H_XY] -> R[T_Y, B_X, H]",
                     {{"B", 3}, {"T", 2}, {"D", 4}, {"F", 5}, {"H", 6}});
  bench.expect_right("A[I_X] * B[I_Y] * C[I] -> D[I_XY]", {{"I", 9}});
}

TEST_F(ProductTest, EveryCandidateIsRight) {
  Bench bench(square_);
  int count = 0;
  for (const char* text : {"A[I, J_X] * B[J_X, K_Y] -> C[I, K]", "A[I_X, J] * B[J, K_X] -> C[I_Y, K]",
                           "A[I_XY, J] * B[J_Y, K]{U_X} -> C[I, K_X]", "A[I_Y, J]{U_X} * B[J_Y, K] -> C[I, K]{U_X}"}) {
    const Product product = bench.product(text, {{"I", 5}, {"J", 7}, {"K", 6}});
    const std::vector<Candidate> candidates = bench.candidates(product);
    for (const Candidate& candidate : candidates) bench.expect_right(product, candidate.program);
    count += static_cast<int>(candidates.size());
  }
  EXPECT_GT(count, 60);
}

TEST_F(ProductTest, MultiplyGivesResultAndTimes) {
  const Sizes sizes{{"I", 5}, {"J", 7}, {"K", 6}};
  collectives::Engine engine(square_);
  roofline::Hardware hardware{
      .name = "a guess",
      .matmul = FlopsPerSecond(1e9),
      .memory = BytesPerSecond(1e9),
      .overhead = Seconds(1e-6),
      .links = {{"X", {Seconds(1e-6), BytesPerSecond(1e9)}}, {"Y", {Seconds(1e-6), BytesPerSecond(1e9)}}}};
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const auto a = DistTensor::make(square_, array_spec("A[I_X, J_Y]", sizes, square_.axes(), dtype),
                                    [](Index i) { return part("A", i, 0); });
    const auto b = DistTensor::make(square_, array_spec("B[J_Y, K]", sizes, square_.axes(), dtype),
                                    [](Index i) { return part("B", i, 0); });
    const Multiplied product = multiply(engine, a, b, "C[I_X, K]", hardware);
    EXPECT_EQ(product.result.to_string(), "C[I_X, K]");
    EXPECT_EQ(product.result.spec().dtype, dtype == DType::bf16 ? DType::f32 : dtype);
    for (const TimedStep& step : product.steps) {
      EXPECT_EQ(step.measured.count, 1) << step.label.name;
      EXPECT_GT(step.measured.total, Seconds(0)) << step.label.name;
      EXPECT_GT(step.label.predicted, Seconds(0)) << step.label.name;
    }
    if (dtype != DType::bf16) {  // bf16 operands are half as wide as their product, so gathering them moves less
      ASSERT_EQ(product.steps.size(), 2U);
      EXPECT_EQ(product.steps[0].label.name, "C[I_X, K]{U_Y} = A[I_X, J_Y] *_J B[J_Y, K]");
      EXPECT_EQ(product.steps[1].label.name, "C[I_X, K] = AllReduce_Y(C[I_X, K]{U_Y})");
    }
    const Tensor c = product.result.gather().as(DType::f64);
    const Tensor expected =
        dense_product(make_product(parse_product("A[I, J] * B[J, K] -> C[I, K]"), sizes, square_.axes()));
    for (Index i = 0; i < c.size(); ++i) EXPECT_EQ(c.view<double>()[i], expected.view<double>()[i]);
  }
}

}  // namespace
}  // namespace shardline
