// Einsums of a few tokens and a matrix of weights: each is one thin product, of the weights as they lie. So it has the
// bits of that product.
#include <cstring>
#include <string>

#include "kernels/einsum/einsum.h"
#include "kernels/gemm/thin.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::random_array;

Index extent_of(char dim, Index batch, Index tokens) {
  switch (dim) {
    case 'B':
      return batch;
    case 'T':
      return tokens;
    case 'K':
      return 2;
    case 'G':
      return 3;
    case 'H':
      return 20;
    case 'D':
      return 70;
    case 'F':
      return 101;
    default:
      return 131;  // V
  }
}

Shape shape_of(const std::string& dims, Index batch, Index tokens) {
  Shape shape;
  for (const char dim : dims) shape.push_back(extent_of(dim, batch, tokens));
  return shape;
}

template <class T>
Array<T> made(std::string_view name, const Shape& shape) {
  Array<T> array(shape);
  const auto values = random_array<float>(name, shape);
  for (Index i = 0; i < array.size(); ++i) array[i] = T(values[i]);
  return array;
}

/// The einsum, and the product [B T, k] times the weights, stored [k, n] or [n, k].
template <class S, class R>
void check(const std::string& x_dims, const std::string& w_dims, const std::string& y_dims, Transpose transpose) {
  for (const auto& [batch, tokens] : {std::pair<Index, Index>{1, 1}, {1, 5}, {4, 1}, {3, 5}}) {
    SCOPED_TRACE(x_dims + "," + w_dims + " for " + std::to_string(batch) + " sequences of " + std::to_string(tokens));
    const auto x = made<S>("x", shape_of(x_dims, batch, tokens)), w = made<S>("w", shape_of(w_dims, batch, tokens));
    Array<R> y(shape_of(y_dims, batch, tokens)), expected(y.shape);
    const Subscripts of_x(x_dims.begin(), x_dims.end()), of_w(w_dims.begin(), w_dims.end());
    for (const bool weights_first : {false, true}) {
      std::vector<EinsumOperand<S>> operands{{x.view(), of_x}, {w.view(), of_w}};
      if (weights_first) std::swap(operands[0], operands[1]);
      einsum<S>(operands, y.view(), {y_dims.begin(), y_dims.end()});
      const Index m = batch * tokens, k = x.size() / m, n = y.size() / m;
      const bool turned = transpose == Transpose::yes;
      multiply_thin({.b = transpose, .m = m, .n = n, .k = k, .lda = k, .ldb = turned ? k : n, .ldc = n},
                    x.values.data(), w.values.data(), false, expected.values.data());
      EXPECT_EQ(std::memcmp(y.values.data(), expected.values.data(), y.values.size() * sizeof(R)), 0);
    }
  }
}

template <class S, class R>
void check_model() {
  check<S, R>("BTD", "DKGH", "BTKGH", Transpose::no);
  check<S, R>("BTKGH", "KGHD", "BTD", Transpose::no);
  check<S, R>("BTD", "DF", "BTF", Transpose::no);
  check<S, R>("BTF", "FD", "BTD", Transpose::no);
  check<S, R>("BTD", "VD", "BTV", Transpose::yes);
  check<S, R>("BTKGH", "DKGH", "BTD", Transpose::yes);
}

TEST(EinsumRowsTest, AreThinProducts) {
  check_model<float, float>();
  check_model<BFloat16, float>();
  check_model<BFloat16, BFloat16>();
}

/// A vector and a matrix for each position of an index that all arrays have; whole numbers, so that sums are exact.
TEST(EinsumRowsTest, TakesABatchOfVectorsAndMatrices) {
  constexpr Index kE = 3, kK = 80, kN = 90;
  Array<float> x({kE, kK}), w({kE, kN, kK}), y({kN, kE});
  for (Index i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7 - 3);
  for (Index i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 11 - 5);
  const std::vector<EinsumOperand<float>> operands{{w.view(), {0, 2, 1}}, {x.view(), {0, 1}}};
  einsum<float>(operands, y.view(), {2, 0});
  for (Index e = 0; e < kE; ++e) {
    for (Index n = 0; n < kN; ++n) {
      float sum = 0;
      for (Index k = 0; k < kK; ++k) sum += x[e * kK + k] * w[(e * kN + n) * kK + k];
      ASSERT_EQ(y[n * kE + e], sum) << e << " " << n;
    }
  }
}

}  // namespace
}  // namespace shardline::kernels
