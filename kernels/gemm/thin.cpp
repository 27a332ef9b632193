#include "kernels/gemm/thin.h"

#include <algorithm>
#include <array>

#include "kernels/support/row_products.h"
#include "kernels/support/weighted_rows.h"
#include "kernels/support/workspace.h"

namespace shardline::kernels {
namespace {

/// With more rows a library is as fast: the operations then take longer than reading B.
constexpr Index kMostRows = 16;
/// Columns of which the sums stay in the caches while B goes by. Shorter pieces of its rows would cost speed.
constexpr Index kMostColumns = 16384;

/// How B [k, n] is read: so many rows together, and how far ahead.
struct Panel {
  Index rows;
  Index ahead;  ///< elements
};

/// Few sums are cheap to load and store, so that few rows are enough. They are then read in long pieces, and the next
/// ones come into the caches meanwhile. More sums want more rows, of which only short pieces fit the caches.
Panel panel_for(Index m, Index ldb, Index bytes) {
  constexpr Index kCached =
      Index{1} << 20;  // B is perhaps in the caches, where asking for it ahead costs more than it saves
  if (bytes <= kCached) return {kWeightedAtOnce, 0};
  if (m <= 2) return {8, 8 * ldb};
  return {m <= 8 ? kWeightedAtOnce : kWeightedAtOnce / 2, 128};
}

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

/// Pointers to element `at` of rows of B from `first` on. The last one is repeated if there are fewer.
template <Index count, class S, class T>
std::array<const S*, count> rows_of_b(const ThinProduct<S, T>& p, Index first, Index rows, Index at) {
  std::array<const S*, count> pointers;
  for (Index r = 0; r < count; ++r) {
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
  const Index blocks = (n + kMostColumns - 1) / kMostColumns, most = packed_length((n + blocks - 1) / blocks);
  float* const sums = room_of_sums.room(m * most);
  const Panel panel = panel_for(m, p.shape.ldb, k * n * static_cast<Index>(sizeof(S)));
  for (Index j = 0; j < n; j += most) {
    const Index columns = std::min(most, n - j);
    std::fill_n(sums, m * most, 0.0F);
    for (Index l = 0; l < k; l += panel.rows) {
      const auto rows = rows_of_b<kWeightedAtOnce>(p, l, k, j);
      run_with_vectors(WeightedRows<S, Packed<S>>{.weights = weights + l,
                                                  .weights_row = of_row,
                                                  .c_rows = m,
                                                  .rows = rows.data(),
                                                  .count = std::min(panel.rows, k - l),
                                                  .length = columns,
                                                  .c = sums,
                                                  .c_row = most,
                                                  .ahead = panel.ahead});
    }
    for (Index i = 0; i < m; ++i) {
      unpack_row<S>(sums + i * most, columns, [&](Index at, float sum) { p.finish(sum, i, j + at); });
    }
  }
}

/// B is stored [n, k]: each of its rows is multiplied with all rows of A.
template <class S, class T>
void multiply_rows(const ThinProduct<S, T>& p) {
  static Workspace<Packed<S>> room_of_a;
  const auto [m, n, k] = std::array{p.shape.m, p.shape.n, p.shape.k};
  const Index of_row = packed_length(k);
  Packed<S>* const x = room_of_a.room(m * of_row);
  for (Index i = 0; i < m; ++i) pack_row<S>(p.row_of_a(i), p.step_of_a(), k, x + i * of_row);
  std::array<float, kMostRows * kRowsAtOnce> sums;
  for (Index j = 0; j < n; j += kRowsAtOnce) {
    const Index count = std::min(kRowsAtOnce, n - j);
    const auto rows = rows_of_b<kRowsAtOnce>(p, j, n, 0);
    run_with_vectors(RowProducts<S>{.x = x,
                                    .x_row = of_row,
                                    .x_rows = m,
                                    .rows = rows.data(),
                                    .count = count,
                                    .length = k,
                                    .sums = sums.data(),
                                    .sums_row = kRowsAtOnce,
                                    .ahead = kRowsAtOnce * p.shape.ldb});
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
