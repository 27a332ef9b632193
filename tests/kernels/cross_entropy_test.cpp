#include "kernels/cross_entropy.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::kGradientTolerance;
using testing::numeric_gradient;
using testing::random_array;
using testing::slice;
using testing::unwritten;

template <class T>
class CrossEntropyTest : public ::testing::Test {};
TYPED_TEST_SUITE(CrossEntropyTest, testing::FloatTypes);

constexpr double kScale = 0.25;

Array<std::int32_t> random_labels(Shape shape, Index vocabulary) {
  Array<std::int32_t> labels(std::move(shape));
  const CounterRng rng(5, "labels");
  for (Index i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(rng.below(i, vocabulary));
  return labels;
}

/// scale sum of -log softmax(logits)[label] over the rows that count, in f64.
template <class T>
double loss_plainly(const Array<T>& logits, const Array<std::int32_t>& labels) {
  const Index columns = logits.shape.back();
  double loss = 0;
  for (Index t = 0; t < labels.size(); ++t) {
    if (labels[t] < 0) continue;
    double sum = 0;
    for (Index v = 0; v < columns; ++v) sum += std::exp(static_cast<double>(logits[t * columns + v]));
    loss += std::log(sum) - static_cast<double>(logits[t * columns + labels[t]]);
  }
  return kScale * loss;
}

template <class T>
struct Outcome {
  T loss;
  std::vector<Array<T>> dlogits;
};

/// Runs the phases on blocks of the vocabulary, as ranks do: maximum and sums over the blocks between the
/// phases.
template <class T>
Outcome<T> run(const Array<T>& logits, const Array<std::int32_t>& labels, const std::vector<Range>& blocks, T dloss) {
  const Shape rows = labels.shape;
  const std::size_t v = logits.shape.size() - 1;
  Array<T> max(rows, std::numeric_limits<T>::lowest()), z(rows), picked(rows), part(rows), loss({}), d_loss({}, dloss);
  for (const Range block : blocks) {
    row_max<T>(slice(logits, v, block).view(), part.view());
    for (Index t = 0; t < max.size(); ++t) max[t] = std::max(max[t], part[t]);
  }
  for (const Range block : blocks) {
    const auto local = slice(logits, v, block);
    sum_exp<T>(local.view(), max.view(), part.view());
    for (Index t = 0; t < z.size(); ++t) z[t] += part[t];
    pick<T>(local.view(), labels.view(), block, part.view());
    for (Index t = 0; t < picked.size(); ++t) picked[t] += part[t];
  }
  negative_log_likelihood<T>(z.view(), max.view(), picked.view(), labels.view(), kScale, loss.view());
  Outcome<T> outcome{loss[0], {}};
  for (const Range block : blocks) {
    const auto local = slice(logits, v, block);
    outcome.dlogits.push_back(unwritten<T>(local.shape));
    cross_entropy_grad<T>(local.view(), labels.view(), max.view(), z.view(), d_loss.view(), block, kScale,
                          outcome.dlogits.back().view());
  }
  return outcome;
}

TYPED_TEST(CrossEntropyTest, LossEqualsItsDefinition) {
  using T = TypeParam;
  for (const Index columns : {1, 5, 32, 100}) {
    const auto logits = random_array<T>("logits", {2, 3, columns});
    const auto labels = random_labels({2, 3}, columns);
    const auto outcome = run<T>(logits, labels, {{0, columns}}, T(1));
    EXPECT_NEAR(static_cast<double>(outcome.loss), loss_plainly(logits, labels), 1e-5);
  }
}

TEST(CrossEntropyGradTest, EqualsFiniteDifferences) {
  auto logits = random_array<double>("logits", {3, 37});
  const auto labels = random_labels({3}, 37);
  const double dloss = 1.5;
  const auto outcome = run<double>(logits, labels, {{0, 37}}, dloss);
  const auto expected = numeric_gradient(logits, [&] { return dloss * loss_plainly(logits, labels); });
  expect_close(outcome.dlogits[0], expected, kGradientTolerance);
}

TYPED_TEST(CrossEntropyTest, BlocksOfTheVocabularyGiveTheWhole) {
  using T = TypeParam;
  const auto logits = random_array<T>("logits", {4, 45});
  const auto labels = random_labels({4}, 45);
  const auto whole = run<T>(logits, labels, {{0, 45}}, T(1));
  const std::vector<Range> blocks{{0, 33}, {33, 33}, {33, 45}};
  const auto parts = run<T>(logits, labels, blocks, T(1));
  EXPECT_NEAR(static_cast<double>(parts.loss), static_cast<double>(whole.loss), 1e-6);
  for (std::size_t i = 0; i < blocks.size(); ++i) expect_close(parts.dlogits[i], slice(whole.dlogits[0], 1, blocks[i]));
}

/// A row without a label changes nothing, whatever is in it.
TYPED_TEST(CrossEntropyTest, RowsWithANegativeLabelCountNothing) {
  using T = TypeParam;
  auto logits = random_array<T>("logits", {4, 45});
  auto labels = random_labels({4}, 45);
  labels[1] = -1;
  labels[3] = std::numeric_limits<std::int32_t>::min();
  const double want = loss_plainly(logits, labels);
  logits[45 + 7] = std::numeric_limits<T>::infinity();
  logits[3 * 45] = std::numeric_limits<T>::quiet_NaN();
  const auto outcome = run<T>(logits, labels, {{0, 30}, {30, 45}}, T(1));
  EXPECT_NEAR(static_cast<double>(outcome.loss), want, 1e-5);
  for (const auto& block : outcome.dlogits) {
    const Index columns = block.shape[1];
    for (Index t = 0; t < 4; ++t) {
      for (Index v = 0; v < columns; ++v) {
        const bool counts = t % 2 == 0;
        EXPECT_TRUE(counts ? std::isfinite(block[t * columns + v]) && block[t * columns + v] != T(0)
                           : block[t * columns + v] == T(0));
      }
    }
  }
}

TEST(CrossEntropyGradTest, EqualsFiniteDifferencesWhereLabelsCount) {
  auto logits = random_array<double>("logits", {3, 37});
  auto labels = random_labels({3}, 37);
  labels[1] = -1;
  const auto outcome = run<double>(logits, labels, {{0, 37}}, 1.5);
  const auto expected = numeric_gradient(logits, [&] { return 1.5 * loss_plainly(logits, labels); });
  expect_close(outcome.dlogits[0], expected, kGradientTolerance);
}

TYPED_TEST(CrossEntropyTest, SurvivesLargeLogits) {
  using T = TypeParam;
  Array<T> logits({1, 3});
  logits.values = {T(30000), T(-30000), T(29999)};
  Array<std::int32_t> labels({1});
  const auto outcome = run<T>(logits, labels, {{0, 3}}, T(1));
  EXPECT_NEAR(static_cast<double>(outcome.loss), kScale * std::log1p(std::exp(-1.0)), 1e-3);
  for (const T value : outcome.dlogits[0].values) EXPECT_TRUE(std::isfinite(value));
}

/// Rows of one logit: their sums are the exponentials of the kernels.
template <class T>
Array<T> exponentials(const Array<T>& x) {
  const Array<T> max(x.shape);
  auto z = unwritten<T>(x.shape);
  sum_exp<T>({x.values.data(), {x.size(), 1}}, max.view(), z.view());
  return z;
}

TYPED_TEST(CrossEntropyTest, ExponentialsAreRightToTheLastPlaces) {
  using T = TypeParam;
  const T lowest = std::log(std::numeric_limits<T>::min()), highest = std::log(std::numeric_limits<T>::max());
  const Index count = 100003;
  Array<T> x({count});
  for (Index i = 0; i < count; ++i) {
    x[i] = lowest * T(0.9999) + (highest - lowest) * T(0.9998) * static_cast<T>(i) / static_cast<T>(count);
  }
  const auto y = exponentials(x);
  for (Index i = 0; i < count; ++i) {
    const long double expected = std::exp(static_cast<long double>(x[i]));
    const long double unit = std::numeric_limits<T>::epsilon() * expected;
    ASSERT_LE(std::abs(static_cast<long double>(y[i]) - expected), 2 * unit) << "exp(" << x[i] << ")";
  }
}

TYPED_TEST(CrossEntropyTest, ExponentialsEndInZeroInfinityAndNan) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  Array<T> x({8});
  x.values = {-Limits::infinity(), Limits::lowest(), std::log(Limits::min()) - T(1), T(0), Limits::infinity(),
              Limits::quiet_NaN(), Limits::max(),    std::log(Limits::max()) + T(1)};
  const auto y = exponentials(x);
  for (const Index i : {0, 1, 2}) EXPECT_EQ(y[i], T(0)) << "exp(" << x[i] << ")";
  EXPECT_EQ(y[3], T(1));
  for (const Index i : {4, 6, 7}) EXPECT_EQ(y[i], Limits::infinity()) << "exp(" << x[i] << ")";
  EXPECT_TRUE(std::isnan(y[5]));
}

TYPED_TEST(CrossEntropyTest, MaximumKeepsNanWhereverItStands) {
  using T = TypeParam;
  for (const Index place : {0, 31, 32, 39}) {
    auto logits = random_array<T>("logits", {1, 40});
    logits[place] = std::numeric_limits<T>::quiet_NaN();
    Array<T> max({1});
    row_max<T>(std::as_const(logits).view(), max.view());
    EXPECT_TRUE(std::isnan(max[0])) << "NaN at " << place;
  }
}

TYPED_TEST(CrossEntropyTest, TakesEmptyExtents) {
  using T = TypeParam;
  const Array<std::int32_t> labels({2});
  auto small = unwritten<T>({2});
  row_max<T>({nullptr, {2, 0}}, small.view());
  EXPECT_EQ(small[1], std::numeric_limits<T>::lowest());
  const Array<T> max = small;
  sum_exp<T>({nullptr, {2, 0}}, max.view(), small.view());
  EXPECT_EQ(small[1], T(0));
  pick<T>({nullptr, {2, 0}}, labels.view(), {4, 4}, small.view());
  EXPECT_EQ(small[1], T(0));
  const Array<T> one({2}, T(1)), dloss({}, T(1));
  cross_entropy_grad<T>({nullptr, {2, 0}}, labels.view(), one.view(), one.view(), dloss.view(), {4, 4}, 1,
                        {nullptr, {2, 0}});
  const auto nothing = run<T>(Array<T>({0, 5}), Array<std::int32_t>({0}), {{0, 5}}, T(1));
  EXPECT_EQ(nothing.loss, T(0));
}

TEST(CrossEntropyErrorTest, RefusesAVocabularyThatIsNotTheLogits) {
  const Array<float> logits({2, 3});
  const Array<std::int32_t> labels({2});
  Array<float> picked({2});
  EXPECT_THROW(pick<float>(logits.view(), labels.view(), {0, 4}, picked.view()), Error);
}

TEST(CrossEntropyCostTest, CountsEveryArrayOnce) {
  EXPECT_EQ(row_max_cost({2, 3}, 4).bytes, Bytes(4 * (6 + 2)));
  EXPECT_EQ(sum_exp_cost({2, 3}, 4).bytes, Bytes(4 * (6 + 4)));
  EXPECT_EQ(pick_cost(2, 8).bytes, Bytes(2 * (16 + 4)));
  EXPECT_EQ(negative_log_likelihood_cost(2, 4).bytes, Bytes(4 * 7 + 2 * 4));
  EXPECT_EQ(cross_entropy_grad_cost({2, 3}, 4).bytes, Bytes(4 * (12 + 4) + 8));
}

}  // namespace
}  // namespace shardline::kernels
