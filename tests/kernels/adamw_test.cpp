#include "kernels/adamw.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::random_array;
using testing::unwritten;

template <class T>
class AdamWTest : public ::testing::Test {};
TYPED_TEST_SUITE(AdamWTest, testing::FloatTypes);

/// One parameter after another in f64, as in the paper.
struct Reference {
  double p = 0, m = 0, v = 0;

  void step(const AdamWOptions& o, double g, double norm, double learning_rate, double t) {
    if (o.clip_norm > 0 && norm > o.clip_norm) g *= o.clip_norm / norm;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(o.beta1, t));
    const double v_hat = v / (1 - std::pow(o.beta2, t));
    p -= learning_rate * (m_hat / (std::sqrt(v_hat) + o.eps) + o.weight_decay * p);
  }
};

TYPED_TEST(AdamWTest, FollowsTheReferenceInPlace) {
  using T = TypeParam;
  for (const double clip_norm : {0.0, 0.5, 1e6}) {
    const AdamWOptions options{.weight_decay = 0.1, .clip_norm = clip_norm};
    const Index count = 75;
    auto p = random_array<T>("p", {count});
    Array<T> m({count}), v({count}), norm({});
    std::vector<Reference> reference;
    for (const T value : p.values) reference.push_back({static_cast<double>(value)});
    for (int step = 1; step <= 5; ++step) {
      const auto g = random_array<T>(fmt::format("g{}", step), {count});
      sum_squares<T>(g.view(), norm.view());
      const auto norm_squared = static_cast<double>(norm[0]);
      adamw<T>(options, p.view(), g.view(), m.view(), v.view(), norm_squared, 0.01, step, p.view(), m.view(), v.view());
      for (Index i = 0; i < count; ++i) {
        reference[static_cast<std::size_t>(i)].step(options, static_cast<double>(g[i]), std::sqrt(norm_squared), 0.01,
                                                    step);
      }
    }
    Array<double> p_expected({count}), m_expected({count}), v_expected({count});
    for (std::size_t i = 0; i < reference.size(); ++i) {
      p_expected.values[i] = reference[i].p;
      m_expected.values[i] = reference[i].m;
      v_expected.values[i] = reference[i].v;
    }
    expect_close(p, p_expected);
    expect_close(m, m_expected);
    expect_close(v, v_expected);
  }
}

TYPED_TEST(AdamWTest, WritesElsewhereTheSameBits) {
  using T = TypeParam;
  const auto g = random_array<T>("g", {40});
  auto p = random_array<T>("p", {40});
  Array<T> m({40}, T(0.1)), v({40}, T(0.2));
  auto p_out = unwritten<T>({40}), m_out = p_out, v_out = p_out;
  adamw<T>({}, p.view(), g.view(), m.view(), v.view(), 1, 0.01, 3, p_out.view(), m_out.view(), v_out.view());
  adamw<T>({}, p.view(), g.view(), m.view(), v.view(), 1, 0.01, 3, p.view(), m.view(), v.view());
  EXPECT_EQ(p.values, p_out.values);
  EXPECT_EQ(m.values, m_out.values);
  EXPECT_EQ(v.values, v_out.values);
}

TYPED_TEST(AdamWTest, ZeroGradientsOnlyDecay) {
  using T = TypeParam;
  Array<T> p({3}, T(2)), g({3}), m({3}), v({3});
  adamw<T>({.weight_decay = 0.5, .clip_norm = 1}, p.view(), g.view(), m.view(), v.view(), 0, 0.5, 1, p.view(), m.view(),
           v.view());
  for (const T value : p.values) EXPECT_EQ(value, T(1.5));
}

TYPED_TEST(AdamWTest, SumsSquaresInDoubles) {
  using T = TypeParam;
  // 2^24 ones: an f32 sum of squares would stop growing at 2^24 and lose the last element.
  const Index count = (Index{1} << 20) + 1;
  Array<T> g({count}, T(4));
  g[count - 1] = T(8);
  Array<T> out({});
  sum_squares<T>(g.view(), out.view());
  EXPECT_EQ(out[0], static_cast<T>(16777216.0 + 64));
  sum_squares<T>({nullptr, {0}}, out.view());
  EXPECT_EQ(out[0], T(0));
}

TYPED_TEST(AdamWTest, TakesEmptyArrays) {
  using T = TypeParam;
  const View<T> none{nullptr, {0, 4}};
  adamw<T>({}, none, none, none, none, 1, 0.1, 1, none, none, none);
}

TEST(AdamWErrorTest, RefusesStepZeroAndOtherSizes) {
  Array<float> a({2}), b({3});
  EXPECT_THROW(adamw<float>({}, a.view(), a.view(), a.view(), a.view(), 1, 1, 0, a.view(), a.view(), a.view()), Error);
  EXPECT_THROW(adamw<float>({}, a.view(), b.view(), a.view(), a.view(), 1, 1, 1, a.view(), a.view(), a.view()), Error);
}

TEST(AdamWCostTest, CountsEveryArrayOnce) {
  EXPECT_EQ(adamw_cost(10, {4, 4, 4}).bytes, Bytes(280));
  EXPECT_EQ(adamw_cost(10, {.parameter = 2, .gradient = 2, .moment = 4}).bytes, Bytes(10 * (2 + 2 + 2 + 4 * 4)));
  EXPECT_EQ(adamw_cost(10, {4, 4, 4}).flops, Flops(160));
  EXPECT_EQ(sum_squares_cost(10, 4).bytes, Bytes(40));
}

}  // namespace
}  // namespace shardline::kernels
