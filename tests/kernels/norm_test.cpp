#include "kernels/norm.h"

#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::inner_product;
using testing::kGradientTolerance;
using testing::numeric_gradient;
using testing::random_array;
using testing::slice;
using testing::unwritten;

template <class T>
class NormTest : public ::testing::Test {};
TYPED_TEST_SUITE(NormTest, testing::FloatTypes);

constexpr double kEps = 1e-5;

/// RMSNorm by its definition, row by row in f64.
template <class T>
Array<double> norm_plainly(const Array<T>& x, const Array<T>& w) {
  Array<double> y(x.shape);
  const Index width = w.size();
  for (Index row = 0; row < (width == 0 ? 0 : x.size() / width); ++row) {
    double mean = 0;
    for (Index d = 0; d < width; ++d) mean += std::pow(static_cast<double>(x[row * width + d]), 2);
    const double rms = std::sqrt(mean / static_cast<double>(width) + kEps);
    for (Index d = 0; d < width; ++d) {
      y[row * width + d] = static_cast<double>(x[row * width + d]) / rms * static_cast<double>(w[d]);
    }
  }
  return y;
}

/// Both phases on one rank.
template <class T>
Array<T> norm_whole(const Array<T>& x, const Array<T>& w) {
  Array<T> ss(Shape(x.shape.begin(), x.shape.end() - 1));
  auto y = unwritten<T>(x.shape);
  sum_squares_rows<T>(x.view(), ss.view());
  normalize<T>(x.view(), std::as_const(ss).view(), w.view(), {w.size(), kEps}, y.view());
  return y;
}

TYPED_TEST(NormTest, EqualsItsDefinition) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{2, 3, 5}, {4, 32}, {3, 100}, {1, 1}, {0, 8}, {3, 0}, {0, 0}}) {
    const auto x = random_array<T>("x", shape);
    const auto w = random_array<T>("w", {shape.back()});
    expect_close(norm_whole(x, w), norm_plainly(x, w));
  }
}

/// A sum of squares that overflows must not give a row of zeros, which looks like a result.
TYPED_TEST(NormTest, ASumThatOverflowsIsSeen) {
  using T = TypeParam;
  auto x = random_array<T>("x", {2, 4});
  x[5] = std::numeric_limits<T>::max() / 2;
  const auto y = norm_whole(x, random_array<T>("w", {4}));
  for (Index i = 0; i < 4; ++i) EXPECT_TRUE(std::isfinite(y[i]));
  for (Index i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(y[i]));
}

struct Gradients {
  Array<double> dx;
  Array<double> dw;
};

Gradients grad_whole(const Array<double>& dy, const Array<double>& x, const Array<double>& w) {
  const Shape rows(x.shape.begin(), x.shape.end() - 1);
  Array<double> ss(rows), dot(rows);
  Gradients gradients{unwritten<double>(x.shape), unwritten<double>(w.shape)};
  sum_squares_rows<double>(x.view(), ss.view());
  norm_dot<double>(dy.view(), w.view(), x.view(), dot.view());
  norm_grad<double>(dy.view(), x.view(), ss.view(), w.view(), dot.view(), {w.size(), kEps}, gradients.dx.view(),
                    gradients.dw.view());
  return gradients;
}

TEST(NormGradTest, EqualsFiniteDifferences) {
  auto x = random_array<double>("x", {2, 3, 37});
  auto w = random_array<double>("w", {37});
  const auto dy = random_array<double>("dy", x.shape);
  const Gradients gradients = grad_whole(dy, x, w);
  const auto loss = [&] { return inner_product(norm_whole(x, w), dy); };
  expect_close(gradients.dx, numeric_gradient(x, loss), kGradientTolerance);
  expect_close(gradients.dw, numeric_gradient(w, loss), kGradientTolerance);
}

/// Blocks of D of unequal sizes, one of them empty. Between the phases, the arrays are summed over the blocks.
TEST(NormSplitTest, BlocksOfTheWidthGiveTheWhole) {
  const Index rows = 4, width = 41;
  const auto x = random_array<double>("x", {rows, width});
  const auto w = random_array<double>("w", {width});
  const auto dy = random_array<double>("dy", {rows, width});
  const auto y = norm_whole(x, w);
  const Gradients whole = grad_whole(dy, x, w);
  const std::vector<Range> blocks{{0, 34}, {34, 34}, {34, 41}};
  Array<double> ss({rows}), dot({rows});
  for (const Range block : blocks) {
    Array<double> part({rows});
    sum_squares_rows<double>(slice(x, 1, block).view(), part.view());
    for (Index t = 0; t < rows; ++t) ss[t] += part[t];
    const auto dy_block = slice(dy, 1, block), w_block = slice(w, 0, block), x_block = slice(x, 1, block);
    norm_dot<double>(dy_block.view(), w_block.view(), x_block.view(), part.view());
    for (Index t = 0; t < rows; ++t) dot[t] += part[t];
  }
  const NormOptions options{width, kEps};
  for (const Range block : blocks) {
    const auto dy_block = slice(dy, 1, block), w_block = slice(w, 0, block), x_block = slice(x, 1, block);
    auto y_block = unwritten<double>(x_block.shape), dx_block = y_block, dw_block = unwritten<double>(w_block.shape);
    normalize<double>(x_block.view(), ss.view(), w_block.view(), options, y_block.view());
    norm_grad<double>(dy_block.view(), x_block.view(), ss.view(), w_block.view(), dot.view(), options, dx_block.view(),
                      dw_block.view());
    expect_close(y_block, slice(y, 1, block));
    expect_close(dx_block, slice(whole.dx, 1, block));
    expect_close(dw_block, slice(whole.dw, 0, block));
  }
}

TYPED_TEST(NormTest, GradientsTakeEmptyArrays) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{0, 8}, {3, 0}, {0, 0}}) {
    const Array<T> x(shape), w({shape[1]}), ss({shape[0]}, T(1));
    auto dot = unwritten<T>({shape[0]}), dx = unwritten<T>(shape), dw = unwritten<T>({shape[1]});
    norm_dot<T>(x.view(), w.view(), x.view(), dot.view());
    norm_grad<T>(x.view(), x.view(), ss.view(), w.view(), std::as_const(dot).view(), {8, kEps}, dx.view(), dw.view());
    for (const T value : dot.values) EXPECT_EQ(value, T(0));
    for (const T value : dw.values) EXPECT_EQ(value, T(0));
  }
}

TEST(NormCostTest, CountsEveryArrayOnce) {
  EXPECT_EQ(sum_squares_rows_cost({2, 3, 5}, 4).bytes, Bytes(4 * (30 + 6)));
  EXPECT_EQ(sum_squares_rows_cost({2, 3, 5}, 4).flops, Flops(60));
  EXPECT_EQ(normalize_cost({2, 3, 5}, 4).bytes, Bytes(4 * (60 + 6 + 5)));
  EXPECT_EQ(norm_dot_cost({2, 3, 5}, 4).bytes, Bytes(4 * (60 + 6 + 5)));
  EXPECT_EQ(norm_grad_cost({2, 3, 5}, 4).bytes, Bytes(4 * (90 + 12 + 10)));
}

}  // namespace
}  // namespace shardline::kernels
