// Which experts tokens go to, and which places they take there, against plain loops in f64 and whole numbers that are
// known.

#include "kernels/experts/routing.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::inner_product;
using testing::kGradientTolerance;
using testing::numeric_gradient;
using testing::random_array;
using testing::unwritten;
using Ids = Array<std::int32_t>;

template <class T>
class Routing : public ::testing::Test {};
TYPED_TEST_SUITE(Routing, testing::FloatTypes);

Ids ids(Shape shape, const std::vector<std::int32_t>& values) {
  Ids array(std::move(shape));
  EXPECT_EQ(values.size(), array.values.size());
  array.values = values;
  return array;
}

TYPED_TEST(Routing, SoftmaxEqualsItsDefinition) {
  using T = TypeParam;
  for (const Index width : {1, 2, 7, 33}) {
    const Array<T> x = random_array<T>("x", {2, 3, width});
    Array<T> p = unwritten<T>(x.shape);
    softmax<T>(x.view(), p.view());
    Array<double> expected(x.shape);
    for (Index row = 0; row < 6; ++row) {
      double sum = 0;
      for (Index r = 0; r < width; ++r) sum += std::exp(static_cast<double>(x[row * width + r]));
      for (Index r = 0; r < width; ++r) {
        expected[row * width + r] = std::exp(static_cast<double>(x[row * width + r])) / sum;
      }
    }
    expect_close(p, expected);
  }
}

TYPED_TEST(Routing, SoftmaxOfLargeValuesIsFinite) {
  using T = TypeParam;
  Array<T> x({2, 3}), p = unwritten<T>({2, 3});
  x.values = {T(1e30), T(-1e30), T(1e30), T(-5000), T(-5001), T(-5000)};
  softmax<T>(x.view(), p.view());
  Array<double> expected({2, 3});
  const double e = std::exp(-1.0);
  expected.values = {0.5, 0, 0.5, 1 / (2 + e), e / (2 + e), 1 / (2 + e)};
  expect_close(p, expected);
}

TYPED_TEST(Routing, NothingIsRouted) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{0, 3, 4}, Shape{2, 0, 4}, Shape{2, 3, 0}}) {
    Array<T> x(shape), p(shape);
    softmax<T>(x.view(), p.view());
    softmax_grad<T>(x.view(), p.view(), x.view());
  }
  Array<T> probs({2, 0, 4}), gate({2, 0, 2});
  Ids choice({2, 0, 2});
  top_k<T>(probs.view(), gate.view(), choice.view());
  top_k_grad<T>(gate.view(), probs.view(), gate.view(), choice.view(), probs.view());
  Array<T> loss = unwritten<T>({});
  balance_loss<T>(probs.view(), Ids({2, 4}).view(), 3, loss.view());
  EXPECT_EQ(loss[0], 0);
}

TEST(Routing, SoftmaxGradientEqualsCentralDifferences) {
  Array<double> x = random_array<double>("x", {3, 5});
  const Array<double> dp = random_array<double>("dp", x.shape);
  Array<double> p(x.shape), dx = unwritten<double>(x.shape);
  const auto loss = [&] {
    softmax<double>(x.view(), p.view());
    return inner_product(p, dp);
  };
  loss();
  softmax_grad<double>(dp.view(), p.view(), dx.view());
  expect_close(dx, numeric_gradient(x, loss), kGradientTolerance);
}

/// Experts sorted by falling probability, of equals the first before the others.
std::vector<std::int32_t> sorted_experts(const double* probs, Index experts) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return probs[a] > probs[b]; });
  return order;
}

TYPED_TEST(Routing, TopKChoosesTheLargest) {
  using T = TypeParam;
  constexpr Index kExperts = 9;
  Array<T> probs = random_array<T>("probs", {4, 5, kExperts});
  // Few different values, so that many are equal.
  for (T& value : probs.values) value = std::round(2 * std::abs(value)) + T(0.5);
  for (const Index chosen : {1, 2, 4, 9}) {
    Array<T> gate = unwritten<T>({4, 5, chosen});
    Ids choice(gate.shape, -7);
    top_k<T>(probs.view(), gate.view(), choice.view());
    Ids expected_choice(gate.shape);
    Array<double> expected_gate(gate.shape);
    for (Index row = 0; row < 20; ++row) {
      const std::vector<double> values(probs.values.begin() + row * kExperts,
                                       probs.values.begin() + (row + 1) * kExperts);
      const std::vector<std::int32_t> order = sorted_experts(values.data(), kExperts);
      double sum = 0;
      for (Index j = 0; j < chosen; ++j) sum += values[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])];
      for (Index j = 0; j < chosen; ++j) {
        const std::int32_t e = order[static_cast<std::size_t>(j)];
        expected_choice[row * chosen + j] = e;
        expected_gate[row * chosen + j] = values[static_cast<std::size_t>(e)] / sum;
      }
    }
    EXPECT_EQ(choice.values, expected_choice.values) << chosen;
    expect_close(gate, expected_gate);
  }
  Array<T> gate({4, 5, 10});
  Ids choice(gate.shape);
  EXPECT_THROW(top_k<T>(probs.view(), gate.view(), choice.view()), Error);
}

TYPED_TEST(Routing, TopKTellsCloseValuesApart) {
  using T = TypeParam;
  const T one = 1, above = std::nextafter(one, T(2)), below = std::nextafter(one, T(0));
  Array<T> probs({2, 4}), gate({2, 2});
  probs.values = {below, one, above, one, one, one, below, above};
  Ids choice({2, 2});
  top_k<T>(probs.view(), gate.view(), choice.view());
  EXPECT_EQ(choice.values, (std::vector<std::int32_t>{2, 1, 3, 0}));
}

/// A NaN may spoil the gates of its token. Every choice is an expert all the same, and no token has an expert twice.
TYPED_TEST(Routing, TopKOfNaNGivesExperts) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  Array<T> probs({4, 3}), gate({4, 3});
  probs.values = {nan, nan, nan, nan, 1, 2, 1, nan, 2, 1, 2, nan};
  for (const Index chosen : {1, 2, 3}) {
    gate = unwritten<T>({4, chosen});
    Ids choice(gate.shape, -7);
    top_k<T>(probs.view(), gate.view(), choice.view());
    for (Index row = 0; row < 4; ++row) {
      std::vector<std::int32_t> own(choice.values.begin() + row * chosen, choice.values.begin() + (row + 1) * chosen);
      std::sort(own.begin(), own.end());
      EXPECT_GE(own.front(), 0);
      EXPECT_LT(own.back(), 3);
      EXPECT_EQ(std::adjacent_find(own.begin(), own.end()), own.end()) << "row " << row << " of " << chosen;
    }
  }
}

TEST(Routing, TopKGradientEqualsCentralDifferences) {
  for (const Index chosen : {1, 2, 5}) {
    Array<double> probs = random_array<double>("probs", {3, 5});
    for (Index i = 0; i < probs.size(); ++i) probs[i] = 0.1 * static_cast<double>(1 + (i * 7) % 15);
    Array<double> gate({3, chosen}), dprobs = unwritten<double>(probs.shape);
    const Array<double> dgate = random_array<double>("dgate", gate.shape);
    Ids choice(gate.shape);
    const auto loss = [&] {
      top_k<double>(probs.view(), gate.view(), choice.view());
      return inner_product(gate, dgate);
    };
    loss();
    top_k_grad<double>(dgate.view(), probs.view(), gate.view(), choice.view(), dprobs.view());
    const Array<double> expected = numeric_gradient(probs, loss);
    for (Index i = 0; i < probs.size(); ++i) EXPECT_NEAR(dprobs[i], expected[i], 1e-8) << chosen << ", " << i;
  }
}

/// Places as assign_places() gave them.
struct Assigned {
  Ids slot, taken, load;

  Assigned(const Ids& choice, const Ids& positions, Index experts, Index places)
      : slot(choice.shape, -7), taken({experts, choice.shape[0]}, -7), load({choice.shape[0], experts}, -7) {
    assign_places(choice.view(), positions.view(), places, slot.view(), taken.view(), load.view());
  }
};

/// Two sequences of four tokens with two choices of three experts. The tokens stand at positions 2, 0, 3, 1.
TEST(Slots, FollowPositions) {
  const Ids choice = ids({2, 4, 2}, {0, 1, 1, 0, 0, 2, 0, 1, 2, 1, 2, 1, 1, 2, 2, 1});
  const Ids positions = ids({4}, {2, 0, 3, 1});
  const Assigned all(choice, positions, 3, 4);
  EXPECT_EQ(all.slot.values, (std::vector<std::int32_t>{2, 2, 0, 0, 3, 0, 1, 1, 2, 2, 0, 0, 3, 3, 1, 1}));
  EXPECT_EQ(all.taken.values, (std::vector<std::int32_t>{4, 0, 3, 4, 1, 4}));
  EXPECT_EQ(all.load.values, (std::vector<std::int32_t>{4, 3, 1, 0, 4, 4}));
  const Assigned few(choice, positions, 3, 2);  // the tokens at the last positions get none
  EXPECT_EQ(few.slot.values, (std::vector<std::int32_t>{-1, -1, 0, 0, -1, 0, 1, 1, -1, -1, 0, 0, -1, -1, 1, 1}));
  EXPECT_EQ(few.taken.values, (std::vector<std::int32_t>{2, 0, 2, 2, 1, 2}));
  EXPECT_EQ(few.load.values, all.load.values);
}

TEST(Slots, AllTokensToOneExpert) {
  const Ids choice({1, 6, 1}, 1);
  const Assigned assigned(choice, ids({6}, {5, 4, 3, 2, 1, 0}), 3, 4);
  EXPECT_EQ(assigned.slot.values, (std::vector<std::int32_t>{-1, -1, 3, 2, 1, 0}));
  EXPECT_EQ(assigned.taken.values, (std::vector<std::int32_t>{0, 4, 0}));
  EXPECT_EQ(assigned.load.values, (std::vector<std::int32_t>{0, 6, 0}));
  const Assigned none(choice, ids({6}, {0, 1, 2, 3, 4, 5}), 3, 0);
  EXPECT_EQ(none.slot.values, std::vector<std::int32_t>(6, -1));
  EXPECT_EQ(none.taken.values, (std::vector<std::int32_t>{0, 0, 0}));
}

TEST(Slots, NoTokensAndNoSequences) {
  const Assigned tokens(Ids({2, 0, 2}), Ids({0}), 3, 4);
  EXPECT_EQ(tokens.taken.values, std::vector<std::int32_t>(6, 0));
  EXPECT_EQ(tokens.load.values, std::vector<std::int32_t>(6, 0));
  const Assigned sequences(Ids({0, 4, 2}), Ids({4}), 3, 4);
  EXPECT_TRUE(sequences.taken.values.empty());
}

TEST(Slots, RefuseWhatIsNoExpert) {
  for (const std::int32_t bad : {-1, 3}) {
    EXPECT_THROW(Assigned(ids({1, 2, 1}, {0, bad}), ids({2}, {0, 1}), 3, 4), Error) << bad;
  }
}

TYPED_TEST(Routing, BalanceLossEqualsItsDefinition) {
  using T = TypeParam;
  const Array<T> probs = random_array<T>("probs", {2, 5, 3});
  const Ids load = ids({2, 3}, {4, 0, 6, 1, 7, 2});
  Array<T> loss = unwritten<T>({}), dprobs = unwritten<T>(probs.shape), dloss({}, T(-2));
  balance_loss<T>(probs.view(), load.view(), 0.25, loss.view());
  balance_loss_grad<T>(load.view(), dloss.view(), 0.25, dprobs.view());
  Array<double> expected({}), expected_grad(probs.shape);
  for (Index b = 0; b < 2; ++b) {
    for (Index t = 0; t < 5; ++t) {
      for (Index r = 0; r < 3; ++r) {
        const Index at = (b * 5 + t) * 3 + r;
        expected[0] += 0.25 * static_cast<double>(load[b * 3 + r]) * static_cast<double>(probs[at]);
        expected_grad[at] = -0.5 * static_cast<double>(load[b * 3 + r]);
      }
    }
  }
  expect_close(loss, expected);
  expect_close(dprobs, expected_grad);
}

TYPED_TEST(Routing, CountsWhatIsRoutedAndDropped) {
  using T = TypeParam;
  const Ids load = ids({2, 3}, {4, 0, 6, 1, 7, 2});
  Array<T> routed = unwritten<T>({3}), dropped = unwritten<T>({3});
  count_routed<T>(load.view(), 3, routed.view(), dropped.view());
  EXPECT_EQ(routed.values, (std::vector<T>{5, 7, 8}));
  EXPECT_EQ(dropped.values, (std::vector<T>{1, 4, 3}));
  count_routed<T>(Ids({0, 3}).view(), 3, routed.view(), dropped.view());
  EXPECT_EQ(routed.values, (std::vector<T>{0, 0, 0}));
}

/// Distances are powers of two, so they are exact.
TYPED_TEST(Routing, TheClosestChoiceIsTheLeastDistance) {
  using T = TypeParam;
  Array<T> probs({2, 3});
  probs.values = {T(0.5), T(0.375), T(0.125), T(0.25), T(0.25), T(0.5)};
  Array<T> closest = unwritten<T>({});
  closest_choice<T>(probs.view(), ids({2, 1}, {0, 2}).view(), closest.view());
  EXPECT_EQ(closest[0], T(-0.125));
  closest_choice<T>(probs.view(), ids({2, 2}, {0, 1, 2, 0}).view(), closest.view());
  EXPECT_EQ(closest[0], T(0)) << "two experts are as good as equal";
  closest_choice<T>(probs.view(), ids({2, 3}, {0, 1, 2, 2, 0, 1}).view(), closest.view());
  EXPECT_EQ(closest[0], T(-1)) << "all are chosen";
}

}  // namespace
}  // namespace shardline::kernels
