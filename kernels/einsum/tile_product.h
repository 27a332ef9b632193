#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/support/vectors.h"
#include "runtime/base/shape.h"

/// Products of small blocks that lie in the caches. The BLAS copies its operands before it
/// multiplies; products over 32 numbers do not pay this back, and the BLAS takes no ragged block. A
/// tile of results stays in registers while its terms are added in order. So a result depends on
/// its own row and column only. Only kernel sources include this header.
namespace shardline::kernels {

/// A tile is kTileRows rows of two vectors. Its sums, two vectors of B and one of A fill 15 of 16
/// registers, and 27 of the 32 of AVX-512. The more rows a tile has, the fewer numbers it loads for
/// each product.
inline constexpr Index kTileRows = kVectorBytes == 64 ? 12 : 6;
/// Rows of A that one pointer reaches: the addresses of x86 have a base and once or twice a
/// distance. With a pointer for each row some would not stay in registers.
inline constexpr Index kPointerRows = 3;
static_assert(kTileRows % kPointerRows == 0);
/// Columns of the widest tile; a multiple of the columns of the other tiles.
template <class T>
inline constexpr Index kTileColumns = 2 * std::max<Index>(kVectorBytes, 32) / static_cast<Index>(sizeof(T));

/// The row stride of a block of `columns`: an odd number of whole tiles. Rows a power of two apart
/// would share few sets of the L1 cache.
template <class T>
constexpr Index row_distance(Index columns) {
  return ((columns + kTileColumns<T> - 1) / kTileColumns<T> | 1) * kTileColumns<T>;
}

/// C = A B, or C += A B, for kTileRows rows of C. B and C are row-major. Element (i, k) of A is at
/// `a_row` i + `a_step` k, so A may be stored transposed. It reads and writes whole tiles:
/// `columns` is rounded up.
template <class T>
struct TileProduct {
  Index depth = 0, columns = 0;
  const T* a = nullptr;
  Index a_row = 0, a_step = 1;
  const T* b = nullptr;
  Index b_row = 0;
  T* c = nullptr;
  Index c_row = 0;
};

enum class TileResult : bool { set, add };

/// The tile that starts at `column`, of `vectors` vectors of `bytes`.
template <Index bytes, Index vectors, TileResult result, class T>
[[gnu::always_inline]] inline void multiply_tile(const TileProduct<T>& product, Index column) {
  using Vector = typename VectorOf<T, bytes>::Type;
  constexpr Index kWidth = VectorOf<T, bytes>::kLanes;
  const Index c_row = product.c_row;
  const T* b = product.b + column;
  T* c = product.c + column;
  const T* a[kTileRows / kPointerRows];
#pragma GCC unroll 4
  for (Index i = 0; i < kTileRows / kPointerRows; ++i) a[i] = product.a + i * kPointerRows * product.a_row;
  Vector sum[kTileRows][vectors] = {};
  if constexpr (result == TileResult::add) {
#pragma GCC unroll 12
    for (Index r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
      for (Index v = 0; v < vectors; ++v) std::memcpy(&sum[r][v], c + r * c_row + v * kWidth, bytes);
    }
  }
  for (Index k = 0; k < product.depth; ++k, b += product.b_row) {
    Vector row[vectors];
#pragma GCC unroll 2
    for (Index v = 0; v < vectors; ++v) std::memcpy(&row[v], b + v * kWidth, bytes);
#pragma GCC unroll 12
    for (Index r = 0; r < kTileRows; ++r) {
      const T factor = a[r / kPointerRows][r % kPointerRows * product.a_row];
#pragma GCC unroll 2
      for (Index v = 0; v < vectors; ++v) sum[r][v] += factor * row[v];
    }
#pragma GCC unroll 4
    for (const T*& pointer : a) pointer += product.a_step;
  }
  // Each vector by itself: an array copied as a whole would go through memory once more.
#pragma GCC unroll 12
  for (Index r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
    for (Index v = 0; v < vectors; ++v) std::memcpy(c + r * c_row + v * kWidth, &sum[r][v], bytes);
  }
}

/// Tiles of two vectors, and one of one vector if no more columns are left.
template <Index bytes, TileResult result, class T>
[[gnu::always_inline]] inline void multiply_columns(const TileProduct<T>& product) {
  constexpr Index kWidth = VectorOf<T, bytes>::kLanes;
  Index column = 0;
  for (; column + kWidth < product.columns; column += 2 * kWidth) multiply_tile<bytes, 2, result>(product, column);
  if (column < product.columns) multiply_tile<bytes, 1, result>(product, column);
}

template <TileResult result, class T>
struct TileKernel {
  const TileProduct<T>& product;

  template <Index bytes>
  [[gnu::always_inline]] inline void run() const {
    multiply_columns<bytes, result>(product);
  }
};

template <TileResult result, class T>
void multiply_tiles(const TileProduct<T>& product) {
  run_with_vectors(TileKernel<result, T>{product});
}

}  // namespace shardline::kernels
