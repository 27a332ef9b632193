#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/base/shape.h"

/// Products of small blocks that lie in the caches. The BLAS copies its operands before it
/// multiplies; products over 32 numbers do not pay this back, and the BLAS takes no ragged block. A
/// tile of results stays in registers while its terms are added in order. So a result depends on
/// its own row and column only. Only kernel sources include this header.
namespace shardline::kernels {

#if defined(__AVX512F__)
inline constexpr Index kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr Index kVectorBytes = 32;
#else
inline constexpr Index kVectorBytes = 16;
#endif

/// A tile is kTileRows rows of two vectors. 12 accumulators, two vectors of B and one of A fill 15
/// of 16 registers.
inline constexpr Index kTileRows = 6;
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

template <class T, Index bytes>
struct VectorOf {
  // An alias template cannot carry the attribute.
  typedef T Type __attribute__((vector_size(bytes)));  // NOLINT(modernize-use-using)
  static constexpr Index kLanes = bytes / static_cast<Index>(sizeof(T));
};

/// The tile that starts at `column`, with vectors of `bytes`.
template <Index bytes, TileResult result, class T>
[[gnu::always_inline]] inline void multiply_tile(const TileProduct<T>& product, Index column) {
  using Vector = typename VectorOf<T, bytes>::Type;
  const T *a = product.a, *b = product.b + column;
  T* c = product.c + column;
  Vector sum[kTileRows][2] = {};
  if constexpr (result == TileResult::add) {
#pragma GCC unroll 6
    for (Index r = 0; r < kTileRows; ++r) std::memcpy(sum[r], c + r * product.c_row, sizeof sum[r]);
  }
  for (Index k = 0; k < product.depth; ++k, a += product.a_step, b += product.b_row) {
    Vector low, high;
    std::memcpy(&low, b, sizeof low);
    std::memcpy(&high, b + VectorOf<T, bytes>::kLanes, sizeof high);
#pragma GCC unroll 6
    for (Index r = 0; r < kTileRows; ++r) {
      sum[r][0] += a[r * product.a_row] * low;
      sum[r][1] += a[r * product.a_row] * high;
    }
  }
#pragma GCC unroll 6
  for (Index r = 0; r < kTileRows; ++r) std::memcpy(c + r * product.c_row, sum[r], sizeof sum[r]);
}

template <Index bytes, TileResult result, class T>
[[gnu::always_inline]] inline void multiply_columns(const TileProduct<T>& product) {
  constexpr Index kStep = 2 * VectorOf<T, bytes>::kLanes;
  for (Index column = 0; column < product.columns; column += kStep) multiply_tile<bytes, result>(product, column);
}

#if defined(__x86_64__) && !defined(__AVX__)
/// For processors with more instructions than the build asks for. The BLAS detects them in the same
/// way.
template <TileResult result, class T>
[[gnu::target("avx2,fma")]] void multiply_tiles_avx2(const TileProduct<T>& product) {
  multiply_columns<32, result>(product);
}
#endif

template <TileResult result, class T>
void multiply_tiles(const TileProduct<T>& product) {
#if defined(__x86_64__) && !defined(__AVX__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_avx2) return multiply_tiles_avx2<result>(product);
#endif
  multiply_columns<kVectorBytes, result>(product);
}

}  // namespace shardline::kernels
