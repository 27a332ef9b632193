#include "kernels/gemm/thin.h"

#include <algorithm>
#include <array>

#include "kernels/support/row_products.h"
#include "kernels/support/weighted_rows.h"
#include "kernels/support/workspace.h"

namespace shardline::kernels {
namespace {

/// With more rows a library is as fast: it copies B to save loads, which then take longer than reading B.
constexpr Index kMostRows = 16;
/// Columns of which the sums are in the caches while B goes by. A row of B is then read by whole pages.
constexpr Index kColumns = 4096;
/// Elements of A that are in the L1 cache while B goes by.
constexpr Index kInCache = 4096;

/// What does not change while a product is computed.
template <class S, class T>
struct ThinProduct {
  const GemmShape& shape;
  const S* a;
  const S* b;
  bool accumulate;
  T* c;

  /// The first element of row `i` of op(A), and the distance of its elements.
  const S* row_of_a(Index i) const { return a + i * (shape.a == Transpose::yes ? 1 : shape.lda); }
  Index step_of_a() const { return shape.a == Transpose::yes ? shape.lda : 1; }

  void finish(float sum, Index i, Index j) const {
    T& element = c[i * shape.ldc + j];
    element = static_cast<T>(accumulate ? static_cast<float>(element) + sum : sum);
  }
};

/// Rows of B from `first` on, from element `at` of each. The last one is repeated if there are fewer.
template <class S, class T>
std::array<const S*, kRowsAtOnce> rows_of_b(const ThinProduct<S, T>& p, Index first, Index rows, Index at) {
  std::array<const S*, kRowsAtOnce> pointers;
  for (Index r = 0; r < kRowsAtOnce; ++r) {
    pointers[static_cast<std::size_t>(r)] = p.b + std::min(first + r, rows - 1) * p.shape.ldb + at;
  }
  return pointers;
}

/// B is stored [k, n]: its rows are added up under weights from A, block of columns by block.
template <class S, class T>
void add_rows(const ThinProduct<S, T>& p) {
  static Workspace<Packed<S>> room_of_a;
  static Workspace<float> room_of_sums;
  const auto [m, n, k] = std::array{p.shape.m, p.shape.n, p.shape.k};
  const Index of_row = packed_length(k);
  Packed<S>* const weights = room_of_a.room(m * of_row);
  for (Index i = 0; i < m; ++i) {
    for (Index l = 0; l < k; ++l) weights[i * of_row + l] = static_cast<Packed<S>>(p.row_of_a(i)[l * p.step_of_a()]);
    std::fill(weights + i * of_row + k, weights + (i + 1) * of_row, Packed<S>());
  }
  float* const sums = room_of_sums.room(m * packed_length(std::min(n, kColumns)));
  for (Index j = 0; j < n; j += kColumns) {
    const Index columns = std::min(kColumns, n - j), row = packed_length(columns);
    std::fill_n(sums, m * row, 0.0F);
    for (Index l = 0; l < k; l += kRowsAtOnce) {
      const auto rows = rows_of_b(p, l, k, j);
      run_with_vectors(WeightedRows<S, Packed<S>>{.weights = weights + l,
                                                  .weights_row = of_row,
                                                  .c_rows = m,
                                                  .rows = rows.data(),
                                                  .count = std::min(kRowsAtOnce, k - l),
                                                  .length = columns,
                                                  .c = sums,
                                                  .c_row = row,
                                                  .ahead = kRowsAtOnce * p.shape.ldb});
    }
    for (Index i = 0; i < m; ++i) {
      unpack_row<S>(sums + i * row, columns, [&](Index at, float sum) { p.finish(sum, i, j + at); });
    }
  }
}

/// B is stored [n, k]: each of its rows is multiplied with all rows of A, part by part.
template <class S, class T>
void multiply_rows(const ThinProduct<S, T>& p) {
  static Workspace<Packed<S>> room_of_a;
  static Workspace<float> room_of_partial;
  const auto [m, n, k] = std::array{p.shape.m, p.shape.n, p.shape.k};
  const Index row = packed_length(k), part = kInCache / m / kPackedBlock * kPackedBlock;
  Packed<S>* const x = room_of_a.room(m * row);
  for (Index i = 0; i < m; ++i) pack_row<S>(p.row_of_a(i), p.step_of_a(), k, x + i * row);
  float* const partial = room_of_partial.room(partial_sums<S>(m));
  std::array<float, kMostRows * kRowsAtOnce> sums;
  for (Index j = 0; j < n; j += kRowsAtOnce) {
    const Index count = std::min(kRowsAtOnce, n - j);
    for (Index l = 0; l < k; l += part) {
      const bool ends = l + part >= k;
      const auto rows = rows_of_b(p, j, n, l);
      run_with_vectors(RowProducts<S>{.x = x + l,
                                      .x_row = row,
                                      .x_rows = m,
                                      .rows = rows.data(),
                                      .count = count,
                                      .length = std::min(part, k - l),
                                      .sums = sums.data(),
                                      .sums_row = kRowsAtOnce,
                                      .partial = partial,
                                      .begins = l == 0,
                                      .ends = ends,
                                      .ahead = ends ? kRowsAtOnce * p.shape.ldb - l : part});
    }
    for (Index i = 0; i < m; ++i) {
      for (Index r = 0; r < count; ++r) p.finish(sums[static_cast<std::size_t>(i * kRowsAtOnce + r)], i, j + r);
    }
  }
}

}  // namespace

bool is_thin(const GemmShape& shape) { return shape.m <= kMostRows; }

template <class S, class T>
void multiply_thin(const GemmShape& shape, const S* a, const S* b, bool accumulate, T* c) {
  const ThinProduct<S, T> product{shape, a, b, accumulate, c};
  if (shape.b == Transpose::yes) {
    multiply_rows(product);
  } else {
    add_rows(product);
  }
}

template void multiply_thin(const GemmShape&, const float*, const float*, bool, float*);
template void multiply_thin(const GemmShape&, const BFloat16*, const BFloat16*, bool, float*);
template void multiply_thin(const GemmShape&, const BFloat16*, const BFloat16*, bool, BFloat16*);

}  // namespace shardline::kernels
