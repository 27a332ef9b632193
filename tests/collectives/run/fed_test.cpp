// Collectives whose input is written while they run, and their answers about the output before they are done.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>

#include "collectives/collectives.h"
#include "runtime/base/check.h"
#include "tests/collectives/fixture.h"

namespace shardline::collectives {
namespace {

Tensor full_of_nan(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  std::fill_n(tensor.view<float>().begin(), tensor.size(), std::numeric_limits<float>::quiet_NaN());
  return tensor;
}

std::vector<Options> fed_options() {
  std::vector<Options> all;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise, Algorithm::doubling, Algorithm::automatic}) {
    all.push_back({.algorithm = algorithm, .fed = true});
    all.push_back({.algorithm = algorithm, .segment_bytes = 9, .window = 2, .fed = true});
  }
  return all;
}

/// Writes `values` into an input of NaN, piece by piece, in a different order on every rank, and supplies it.
class Feeder {
 public:
  Feeder(Tensor input, Tensor values, std::uint32_t seed) : input_(std::move(input)), values_(std::move(values)) {
    std::mt19937 random(seed);
    for (Index begin = 0; begin < values_.size();) {
      const Index end = std::min<Index>(values_.size(), begin + 1 + static_cast<Index>(random() % 5));
      pieces_.push_back({begin, end});
      begin = end;
    }
    std::shuffle(pieces_.begin(), pieces_.end(), random);
  }

  bool done() const { return pieces_.empty(); }
  void feed(Handle& handle) {
    const Range piece = pieces_.back();
    pieces_.pop_back();
    std::memcpy(input_.data() + piece.begin * 4, values_.data() + piece.begin * 4,
                static_cast<std::size_t>(piece.size() * 4));
    handle.supply(piece);
  }

 private:
  Tensor input_;
  Tensor values_;
  std::vector<Range> pieces_;
};

/// One fed collective over a stage's axes: `rows` rows of two elements in total.
struct Fed {
  Tensor input;
  Tensor output;
  Tensor expected;
  std::unique_ptr<Feeder> feeder;
  std::optional<Handle> handle;

  void prepare(Stage& stage, Tensor values) {
    feeder = std::make_unique<Feeder>(input, std::move(values), static_cast<std::uint32_t>(stage.mesh.rank() + 1));
  }
  void feed_all(Engine& engine) {
    while (!feeder->done()) {
      feeder->feed(*handle);
      engine.poll();
    }
  }
  void check() {
    handle->wait();
    EXPECT_TRUE(same_bits(output, expected));
    EXPECT_TRUE(handle->arrived({0, output.size()}));
  }
};

Tensor operand_of(Index rank, Index rows) { return whole_numbers(DType::f32, {rows, 2}, fmt::format("fed {}", rank)); }

Tensor sum_over(Stage& stage, Index rows) {
  std::vector<Tensor> arrays;
  for (const Index rank : stage.group()) arrays.push_back(operand_of(rank, rows));
  return combine(ReduceOp::sum, arrays);
}

Fed fed_gather(Stage& stage, Index rows, const Options& options) {
  Fed fed;
  fed.expected = whole_numbers(DType::f32, {rows, 2}, "gathered");
  const Tensor block = cut_tensor(fed.expected, 0, stage.block(rows));
  fed.input = full_of_nan(block.shape());
  fed.output = full_of_nan({rows, 2});
  fed.prepare(stage, block);
  fed.handle.emplace(start_all_gather(stage.engine, stage.axes, fed.input, 0, fed.output, options));
  return fed;
}

Fed fed_scatter(Stage& stage, Index rows, const Options& options) {
  Fed fed;
  fed.expected = cut_tensor(sum_over(stage, rows), 0, stage.block(rows));
  fed.input = full_of_nan({rows, 2});
  fed.output = full_of_nan(fed.expected.shape());
  fed.prepare(stage, operand_of(stage.mesh.rank(), rows));
  fed.handle.emplace(start_reduce_scatter(stage.engine, stage.axes, ReduceOp::sum, fed.input, 0, fed.output, options));
  return fed;
}

Fed fed_reduce(Stage& stage, Index rows, const Options& options, bool in_place) {
  Fed fed;
  fed.expected = sum_over(stage, rows);
  fed.input = full_of_nan({rows, 2});
  fed.output = in_place ? fed.input : full_of_nan({rows, 2});
  fed.prepare(stage, operand_of(stage.mesh.rank(), rows));
  fed.handle.emplace(start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, fed.input, fed.output, options));
  return fed;
}

void for_each_fed(const std::function<void(Stage&, Index rows, const Options&)>& check) {
  for_each_mesh([&](Stage& stage) {
    Turns turns(3);
    for (const Index rows : interesting_sizes(stage.positions())) {
      for (const Options& options : fed_options()) {
        if (!turns.taken()) continue;
        SCOPED_TRACE(fmt::format("{} rows, {}", rows, describe(options)));
        check(stage, rows, options);
      }
    }
  });
}

TEST(Fed, ReadsNothingThatWasNotSupplied) {
  for_each_fed([](Stage& stage, Index rows, const Options& options) {
    const auto run = [&](Fed fed) {
      fed.feed_all(stage.engine);
      fed.check();
    };
    run(fed_gather(stage, rows, options));
    run(fed_scatter(stage, rows, options));
    run(fed_reduce(stage, rows, options, false));
    run(fed_reduce(stage, rows, options, true));
  });
}

TEST(Fed, SeveralAtOnceBesideOthers) {
  for_each_mesh([](Stage& stage) {
    const Index rows = 20000;
    const Options options{.algorithm = Algorithm::ring, .fed = true};
    Fed one = fed_scatter(stage, rows, options);
    const Tensor operand = operand_of(stage.mesh.rank(), rows);
    Tensor sum(DType::f32, {rows, 2});
    Handle other = start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, operand, sum);
    Fed two = fed_reduce(stage, rows, options, true);
    while (!one.feeder->done() || !two.feeder->done()) {
      if (!two.feeder->done()) two.feeder->feed(*two.handle);
      if (!one.feeder->done()) one.feeder->feed(*one.handle);
      stage.engine.poll();
    }
    other.wait();
    EXPECT_TRUE(same_bits(sum, sum_over(stage, rows)));
    two.check();
    one.check();
  });
}

TEST(Fed, SaysAtOnceThatInputIsMissingAndGoesOnWhenItComes) {
  for_each_mesh([](Stage& stage) {
    Fed fed = fed_scatter(stage, 10, {.algorithm = Algorithm::ring, .fed = true});
    fed.feeder->feed(*fed.handle);
    expect_refused([&] { fed.handle->wait(); },
                   {"reduce_scatter over", "of the 20 elements of its input were not supplied"});
    fed.feed_all(stage.engine);
    fed.check();
  });
}

TEST(Fed, RefusesWhatCannotBeFedByName) {
  const Mesh mesh(AbstractMesh({{"X", world().size()}}), world());
  Engine engine(mesh);
  const Axes axes{"X"};
  const Index p = mesh.ranks();
  Tensor square = Tensor::zeros(DType::f32, {p, p});
  Tensor row = Tensor::zeros(DType::f32, {1, p});
  Tensor column = Tensor::zeros(DType::f32, {p, 1});
  const Options fed{.fed = true};
  expect_refused([&] { start_all_gather(engine, axes, column, 1, square, fed); }, {"all_gather", "fed along dim 1"});
  expect_refused([&] { start_reduce_scatter(engine, axes, ReduceOp::sum, square, 1, column, fed); },
                 {"reduce_scatter", "fed along dim 1"});
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::native}) {
    const Options options{.algorithm = algorithm, .fed = true};
    const std::string name(name_of(algorithm));
    expect_refused([&] { start_all_gather(engine, axes, row, 0, square, options); }, {"fed by algorithm", name});
    expect_refused([&] { start_all_reduce(engine, axes, ReduceOp::sum, square, square, options); }, {"fed by", name});
  }
  expect_refused([&] { start_all_to_all(engine, axes, row, 0, 1, column, fed); }, {"all_to_all", "cannot be fed"});
  expect_refused([&] { start_shift(engine, axes, square, 1, square, fed); }, {"shift", "cannot be fed"});
  Tensor sum(DType::f32, {p, p});
  Handle handle = start_all_reduce(engine, axes, ReduceOp::sum, square, sum);
  expect_refused([&] { handle.supply({0, 1}); }, {"not started as fed"});
  handle.wait();
  Handle bounded = start_all_reduce(engine, axes, ReduceOp::sum, square, sum, fed);
  expect_refused([&] { bounded.supply({0, p * p + 1}); }, {"supplied with elements", "all_reduce"});
  bounded.supply({0, p * p});
  bounded.wait();
}

/// Elements that arrived() reports must be right, now and at the end.
void expect_truthful(const Handle& handle, const Tensor& output, const Tensor& expected) {
  for (Index i = 0; i < output.size(); ++i) {
    if (!handle.arrived({i, i + 1})) continue;
    ASSERT_EQ(output.view<float>()[i], expected.view<float>()[i]) << "element " << i;
  }
}

TEST(Arrived, IsTrueOnlyOfWhatIsThereForGood) {
  for_each_fed([](Stage& stage, Index rows, const Options& options) {
    for (const bool scatters : {false, true}) {
      Fed fed = scatters ? fed_scatter(stage, rows, options) : fed_gather(stage, rows, options);
      while (!fed.feeder->done()) {
        fed.feeder->feed(*fed.handle);
        stage.engine.poll();
        expect_truthful(*fed.handle, fed.output, fed.expected);
      }
      fed.handle->wait_until([&] { return fed.handle->arrived({0, fed.output.size()}); });
      EXPECT_TRUE(same_bits(fed.output, fed.expected));
      fed.check();
    }
  });
}

TEST(Arrived, IsTrueOfTheOwnBlockFromTheStart) {
  for_each_mesh([](Stage& stage) {
    const Index rows = 3 * stage.positions() + 1;
    const Tensor expected = whole_numbers(DType::f32, {rows, 2}, "gathered");
    const Range own = stage.block(rows);
    const Tensor block = cut_tensor(expected, 0, own);
    Tensor out = full_of_nan({rows, 2});
    Handle handle = start_all_gather(stage.engine, stage.axes, block, 0, out, {.algorithm = Algorithm::ring});
    EXPECT_TRUE(handle.arrived({own.begin * 2, own.end * 2}));
    expect_truthful(handle, out, expected);
    handle.wait();
  });
}

TEST(Arrived, IsTrueOnlyAtTheEndWhereItCannotBeTold) {
  for_each_mesh([](Stage& stage) {
    const Index columns = 2 * stage.positions();
    const Tensor expected = whole_numbers(DType::f32, {3, columns}, "gathered");
    const Tensor block = cut_tensor(expected, 1, stage.block(columns));
    Tensor out = full_of_nan({3, columns});
    Handle handle = start_all_gather(stage.engine, stage.axes, block, 1, out, {.algorithm = Algorithm::ring});
    // The elements have arrived, but in a packed buffer.
    while (!handle.done()) expect_truthful(handle, out, expected);
    handle.wait();
    EXPECT_TRUE(handle.arrived({0, out.size()}));
    EXPECT_TRUE(same_bits(out, expected));
  });
}

}  // namespace
}  // namespace shardline::collectives
