// The data of `shardline bench` and the check of its results. The oracle computes the result of a collective
// from the operands of all ranks, by its definition.

#include "tools/bench/bench_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/layout/blocks.h"
#include "tools/bench/bench_memory.h"

namespace shardline::tools {
namespace {

using collectives::Kind;

constexpr std::array kKinds = {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all, Kind::shift};

TEST(ExactData, SumsAreExactInAnyOrderRoundedAfterEveryAddition) {
  for (const Index positions : {1, 2, 3, 5, 16, 100, 255, 300}) {
    const ExactData data({.seed = 7, .positions = positions, .dtype = DType::bf16});
    for (Index i = 0; i < 50; ++i) {
      std::vector<Index> order(static_cast<std::size_t>(positions));
      std::iota(order.begin(), order.end(), 0);
      if (i % 2 == 1) std::reverse(order.begin(), order.end());
      std::rotate(order.begin(), order.begin() + i % positions, order.end());
      BFloat16 sum(0);
      double exact = 0;
      for (const Index position : order) {
        const double part = data.summand(position, i);
        sum = BFloat16(static_cast<float>(sum) + static_cast<float>(part));
        exact += part;
      }
      EXPECT_EQ(static_cast<double>(static_cast<float>(sum)), exact) << positions << " positions, element " << i;
      EXPECT_EQ(data.combined(ReduceOp::sum, i), exact);
      EXPECT_EQ(data.combined(ReduceOp::avg, i), exact / static_cast<double>(positions));
    }
  }
}

TEST(ExactData, ElementsDifferByPositionIndexGroupAndSeed) {
  const ExactData data({.seed = 1, .positions = 4});
  const auto differ = [&](const ExactData& other, Index position, Index shift) {
    Index different = 0;
    for (Index i = 0; i < 100; ++i) {
      if (data.moved(0, i) != other.moved(position, i + shift)) ++different;
    }
    return different;
  };
  EXPECT_EQ(differ(data, 0, 0), 0);
  EXPECT_GT(differ(data, 1, 0), 95);
  EXPECT_GT(differ(data, 0, 1), 95);
  EXPECT_GT(differ(ExactData({.seed = 2, .positions = 4}), 0, 0), 95);
  EXPECT_GT(differ(ExactData({.seed = 1, .group = 1, .positions = 4}), 0, 0), 95);
}

/// Every rank's operand as f64 numbers, by position of the group.
class BenchCaseTest : public testing::TestWithParam<DType> {
 protected:
  BenchCaseTest() : mesh_(mesh_of(world_.size()), world_) {}

  static AbstractMesh mesh_of(Index ranks) {
    return ranks == 4 ? AbstractMesh({{"X", 2}, {"Y", 2}}) : AbstractMesh({{"X", ranks}, {"Y", 1}});
  }

  std::vector<double> numbers(const Tensor& tensor) const {
    std::vector<double> result;
    for (Index i = 0; i < tensor.size(); ++i) {
      const std::byte* at = tensor.data() + i * size_of(tensor.dtype());
      if (tensor.dtype() == DType::f32) result.push_back(static_cast<double>(*reinterpret_cast<const float*>(at)));
      if (tensor.dtype() == DType::f64) result.push_back(*reinterpret_cast<const double*>(at));
      if (tensor.dtype() == DType::i32) result.push_back(*reinterpret_cast<const std::int32_t*>(at));
      if (tensor.dtype() == DType::i64) {
        result.push_back(static_cast<double>(*reinterpret_cast<const std::int64_t*>(at)));
      }
      if (tensor.dtype() == DType::bf16) {
        result.push_back(static_cast<double>(static_cast<float>(*reinterpret_cast<const BFloat16*>(at))));
      }
    }
    return result;
  }

  static void set(Tensor& tensor, Index i, double value) {
    std::byte* at = tensor.data() + i * size_of(tensor.dtype());
    const auto put = [&](auto element) { std::memcpy(at, &element, sizeof element); };
    if (tensor.dtype() == DType::f32) put(static_cast<float>(value));
    if (tensor.dtype() == DType::f64) put(value);
    if (tensor.dtype() == DType::i32) put(static_cast<std::int32_t>(value));
    if (tensor.dtype() == DType::i64) put(static_cast<std::int64_t>(value));
    if (tensor.dtype() == DType::bf16) put(BFloat16(static_cast<float>(value)));
  }

  /// Collective over the mesh: the operands of this rank's group.
  std::vector<std::vector<double>> operands(const Tensor& mine, const Axes& axes) const {
    const std::vector<double> values = numbers(mine);
    const auto all =
        world_.all_gather_bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
    std::vector<std::vector<double>> result;
    for (const Index rank : mesh_.axes().group(mesh_.rank(), axes)) {
      const std::string& bytes = all[static_cast<std::size_t>(rank)];
      result.emplace_back(bytes.size() / sizeof(double));
      std::memcpy(result.back().data(), bytes.data(), bytes.size());
    }
    return result;
  }

  static double combine(const std::vector<std::vector<double>>& parts, ReduceOp op, std::size_t i) {
    double result = parts[0][i];
    for (std::size_t q = 1; q < parts.size(); ++q) {
      result = op == ReduceOp::max ? std::max(result, parts[q][i]) : result + parts[q][i];
    }
    return op == ReduceOp::avg ? result / static_cast<double>(parts.size()) : result;
  }

  /// The expected result of this rank.
  std::vector<double> expected(const CaseSpec& spec, const std::vector<std::vector<double>>& parts) const {
    const Index position = mesh_.axes().position_in_group(mesh_.rank(), spec.axes);
    const Range own = nested_blocks(spec.count, spec.axes, mesh_.axes())[static_cast<std::size_t>(position)];
    const auto begin = static_cast<std::size_t>(own.begin);
    const auto end = static_cast<std::size_t>(own.end);
    std::vector<double> result;
    switch (spec.kind) {
      case Kind::all_gather:
        for (const auto& part : parts) result.insert(result.end(), part.begin(), part.end());
        break;
      case Kind::reduce_scatter:
        for (std::size_t i = begin; i < end; ++i) result.push_back(combine(parts, spec.op, i));
        break;
      case Kind::all_reduce:
        for (std::size_t i = 0; i < parts[0].size(); ++i) result.push_back(combine(parts, spec.op, i));
        break;
      case Kind::all_to_all:
        for (const auto& part : parts) {
          result.insert(result.end(), part.begin() + own.begin, part.begin() + own.end);
        }
        break;
      case Kind::shift:
        result = parts[(static_cast<std::size_t>(position) + parts.size() - 1) % parts.size()];
        break;
    }
    return result;
  }

  static CaseSpec spec_of(Kind kind, const Axes& axes, Index count, ReduceOp op) {
    return {.kind = kind, .axes = axes, .dtype = GetParam(), .op = op, .count = count, .seed = 11};
  }

  /// The legal reductions of a collective for this element type.
  static std::vector<ReduceOp> ops_of(Kind kind) {
    if (!reduces(kind)) return {ReduceOp::sum};
    if (is_integer(GetParam())) return {ReduceOp::sum, ReduceOp::max};
    return {ReduceOp::sum, ReduceOp::max, ReduceOp::avg};
  }

  void check(const CaseSpec& spec) const {
    SCOPED_TRACE(
        fmt::format("{} of {} over {}, {}", name_of(spec.kind), spec.count, to_string(spec.axes), name_of(spec.op)));
    const BenchCase bench_case(mesh_, spec);
    const PairLayout layout = layout_of(bench_case, Bytes(1000));
    const BenchMemory memory(Tensor(DType::i64, {layout.bytes() / 8}), "heap");
    Tensor operand = memory.operand(layout, layout.pairs - 1);
    Tensor result = memory.result(layout, layout.pairs - 1);
    bench_case.fill(operand);
    const std::vector<double> right = expected(spec, operands(operand, spec.axes));
    ASSERT_EQ(static_cast<Index>(right.size()), result.size());
    for (Index i = 0; i < result.size(); ++i) set(result, i, right[static_cast<std::size_t>(i)]);
    EXPECT_EQ(bench_case.wrong(result), 0);
    // The check sees every element, and any other value is wrong.
    for (Index i = 0; i < result.size(); ++i) {
      set(result, i, right[static_cast<std::size_t>(i)] + 1);
      EXPECT_EQ(bench_case.wrong(result), 1);
      set(result, i, right[static_cast<std::size_t>(i)]);
    }
    if (result.bytes() > 0) std::memset(result.data(), 0x7F, static_cast<std::size_t>(result.bytes()));
    EXPECT_EQ(bench_case.wrong(result), result.size()) << "what a cleared result holds counts as right";
  }

  const mpi::Communicator world_ = mpi::Communicator::world();
  const Mesh mesh_;
};

TEST_P(BenchCaseTest, AcceptsWhatTheDefinitionGivesAndNothingElse) {
  for (const Kind kind : kKinds) {
    for (const Index count : {0, 1, 2, 3, 5, 13}) {
      for (const Axes& axes : {Axes{"X"}, Axes{"Y", "X"}}) {
        for (const ReduceOp op : ops_of(kind)) check(spec_of(kind, axes, count, op));
      }
    }
  }
}

TEST_P(BenchCaseTest, TheCollectivesPass) {
  collectives::Engine engine(mesh_);
  for (const Kind kind : kKinds) {
    for (const Index count : {0, 1, 7, 1000}) {
      const BenchCase bench_case(mesh_, spec_of(kind, {"Y", "X"}, count, ReduceOp::sum));
      const PairLayout layout = layout_of(bench_case, Bytes(0));
      EXPECT_EQ(layout.pairs, 1);
      const BenchMemory memory(Tensor(DType::i64, {layout.bytes() / 8}), "heap");
      Tensor operand = memory.operand(layout, 0);
      Tensor result = memory.result(layout, 0);
      bench_case.fill(operand);
      bench_case.start(engine, operand, result, {.algorithm = collectives::Algorithm::ring}).wait();
      EXPECT_EQ(bench_case.wrong(result), 0) << name_of(kind) << " of " << count;
    }
  }
}

TEST_P(BenchCaseTest, TheCallsOfMpiPass) {
  for (const Axes& axes : {Axes{"X"}, Axes{"X", "Y"}, Axes{"Y", "X"}}) {
    const mpi::Communicator in_order = group_in_order(world_, mesh_, axes);
    for (const Kind kind : kKinds) {
      if (reduces(kind) && GetParam() == DType::bf16) continue;  // MPI does not sum bf16
      for (const Index count : {0, 1, 7, 1000, 1200}) {
        for (const ReduceOp op : ops_of(kind)) {
          const BenchCase bench_case(mesh_, spec_of(kind, axes, count, op));
          const PairLayout layout = layout_of(bench_case, Bytes(0));
          const BenchMemory memory(Tensor(DType::i64, {layout.bytes() / 8}), "heap");
          Tensor operand = memory.operand(layout, 0);
          Tensor result = memory.result(layout, 0);
          bench_case.fill(operand);
          if (result.bytes() > 0) std::memset(result.data(), 0x7F, static_cast<std::size_t>(result.bytes()));
          const std::function<void()> call = bench_case.native_call(in_order, operand, result);
          call();
          call();
          EXPECT_EQ(bench_case.wrong(result), 0)
              << fmt::format("{} of {} over {}", name_of(kind), count, to_string(axes));
        }
      }
    }
  }
}

TEST_P(BenchCaseTest, PairsFillWhatIsAskedForAndLieApart) {
  const BenchCase bench_case(mesh_, spec_of(Kind::all_gather, {"X"}, 100, ReduceOp::sum));
  const PairLayout layout = layout_of(bench_case, Bytes(10000));
  EXPECT_GE(layout.bytes(), 10000);
  EXPECT_LT(layout.bytes() - (layout.operand_room + layout.result_room), 10000);
  const BenchMemory memory(Tensor(DType::i64, {layout.bytes() / 8}), "heap");
  const std::byte* end = nullptr;
  for (Index pair = 0; pair < layout.pairs; ++pair) {
    const Tensor operand = memory.operand(layout, pair);
    const Tensor result = memory.result(layout, pair);
    EXPECT_GE(operand.data(), end);
    EXPECT_GE(result.data(), operand.data() + operand.bytes());
    end = result.data() + result.bytes();
  }
  EXPECT_THROW(memory.result(layout, layout.pairs), Error);
}

INSTANTIATE_TEST_SUITE_P(Types, BenchCaseTest,
                         testing::Values(DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace shardline::tools
