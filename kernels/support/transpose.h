#pragma once

#include <cstring>
#include <type_traits>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

/// Transposes in registers. Only kernel sources include this header.
namespace shardline::kernels {

/// Rows and columns of a square that fits registers of 16 bytes.
template <class T>
inline constexpr Index kSquare = 16 / static_cast<Index>(sizeof(T));

/// Reads a row of a square. bf16 is widened.
template <class S, class Vector>
[[gnu::always_inline]] inline void load_square_row(const S* from, Vector& row) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    using Narrow = std::uint16_t __attribute__((vector_size(8)));
    using Wide = std::uint32_t __attribute__((vector_size(16)));
    Narrow bits;
    std::memcpy(&bits, from, sizeof bits);
    const Wide widened = __builtin_convertvector(bits, Wide) << 16;
    std::memcpy(&row, &widened, sizeof row);
  } else {
    std::memcpy(&row, from, sizeof row);
  }
}

/// to[j, i] = from[i, j] for one square. `from_row` and `to_row` are distances between rows.
template <class S, class T>
[[gnu::always_inline]] inline void transpose_square(const S* from, Index from_row, T* to, Index to_row) {
  // An alias template cannot carry the attribute.
  typedef T Vector __attribute__((vector_size(16)));  // NOLINT(modernize-use-using)
  Vector x[kSquare<T>];
#pragma GCC unroll 4
  for (Index i = 0; i < kSquare<T>; ++i) load_square_row(from + i * from_row, x[i]);
  // Interleaving the first half of the rows with the second doubles the distance of neighbours in a
  // row. log2(kSquare) times transpose.
  if constexpr (kSquare<T> == 4) {
    const auto low = [](Vector a, Vector b) { return Vector{a[0], b[0], a[1], b[1]}; };
    const auto high = [](Vector a, Vector b) { return Vector{a[2], b[2], a[3], b[3]}; };
    const Vector y[4] = {low(x[0], x[2]), high(x[0], x[2]), low(x[1], x[3]), high(x[1], x[3])};
    x[0] = low(y[0], y[2]);
    x[1] = high(y[0], y[2]);
    x[2] = low(y[1], y[3]);
    x[3] = high(y[1], y[3]);
  } else {
    static_assert(kSquare<T> == 2);
    const Vector low{x[0][0], x[1][0]};
    x[1] = Vector{x[0][1], x[1][1]};
    x[0] = low;
  }
#pragma GCC unroll 4
  for (Index i = 0; i < kSquare<T>; ++i) std::memcpy(to + i * to_row, &x[i], sizeof x[i]);
}

/// to[j, i] = from[i, j] for i < rows and j < columns. `from` may be bf16, and `to` f32.
template <class S, class T>
void transpose(const S* from, Index from_row, Index rows, Index columns, T* to, Index to_row) {
  const Index whole_rows = rows / kSquare<T> * kSquare<T>;
  const Index whole_columns = columns / kSquare<T> * kSquare<T>;
  for (Index i = 0; i < whole_rows; i += kSquare<T>) {
    for (Index j = 0; j < whole_columns; j += kSquare<T>) {
      transpose_square(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
    }
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[j * to_row + i] = static_cast<T>(from[i * from_row + j]);
  }
}

}  // namespace shardline::kernels
