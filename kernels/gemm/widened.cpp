#include "kernels/gemm/widened.h"

#include <algorithm>
#include <type_traits>

#include "kernels/support/workspace.h"

namespace shardline::kernels {
namespace {

/// The largest block of C, and the terms of its sums that one product of blocks adds up. A block of A is used for kSide
/// columns and one of B for kSide rows, so that widening them takes little beside the product.
constexpr Index kSide = 1024, kDepth = 512;

/// Copies `rows` rows of `row` elements in another type. The rows of `from` and `to` are so many elements apart.
template <class From, class To>
void convert(const From* from, Index from_leading, Index rows, Index row, To* to, Index to_leading) {
  for (Index i = 0; i < rows; ++i) {
    std::transform(from + i * from_leading, from + i * from_leading + row, to + i * to_leading,
                   [](From value) { return static_cast<To>(value); });
  }
}

/// A part of an operand in f32, [rows, columns] as it is used. It is stored as the operand is.
struct Wide {
  const float* data;
  Index leading;
};

Wide widen(const BFloat16* operand, Transpose transpose, Index leading, Range rows, Range columns,
           Workspace<float>& block) {
  if (transpose == Transpose::yes) std::swap(rows, columns);
  float* wide = block.room(rows.size() * columns.size());
  convert(operand + rows.begin * leading + columns.begin, leading, rows.size(), columns.size(), wide, columns.size());
  return {wide, columns.size()};
}

Range part(Index begin, Index most, Index extent) { return {begin, std::min(begin + most, extent)}; }

/// A block of C in f32, and whether the product is added to it.
struct Sums {
  Range rows, columns;
  bool accumulate;
  float* data;
  Index leading;
};

void sum_block(const GemmShape& shape, const BFloat16* a, const BFloat16* b, const Sums& sums) {
  static Workspace<float> wide_a, wide_b;
  for (Index l = 0; l < shape.k; l += kDepth) {
    const Range terms = part(l, kDepth, shape.k);
    const Wide left = widen(a, shape.a, shape.lda, sums.rows, terms, wide_a);
    const Wide right = widen(b, shape.b, shape.ldb, terms, sums.columns, wide_b);
    const GemmShape block{.a = shape.a,
                          .b = shape.b,
                          .m = sums.rows.size(),
                          .n = sums.columns.size(),
                          .k = terms.size(),
                          .lda = left.leading,
                          .ldb = right.leading,
                          .ldc = sums.leading};
    gemm(block, left.data, right.data, sums.data, {.accumulate = sums.accumulate || l > 0});
  }
}

}  // namespace

template <class T>
void multiply_widened(const GemmShape& shape, const BFloat16* a, const BFloat16* b, bool accumulate, T* c) {
  static Workspace<float> wide_c;
  for (Index j = 0; j < shape.n; j += kSide) {
    const Range columns = part(j, kSide, shape.n);
    for (Index i = 0; i < shape.m; i += kSide) {
      const Range rows = part(i, kSide, shape.m);
      T* result = c + i * shape.ldc + j;
      if constexpr (std::is_same_v<T, float>) {
        sum_block(shape, a, b, {rows, columns, accumulate, result, shape.ldc});
      } else {
        float* sums = wide_c.room(rows.size() * columns.size());
        if (accumulate) convert(result, shape.ldc, rows.size(), columns.size(), sums, columns.size());
        sum_block(shape, a, b, {rows, columns, accumulate, sums, columns.size()});
        convert(sums, columns.size(), rows.size(), columns.size(), result, shape.ldc);
      }
    }
  }
}

template void multiply_widened(const GemmShape&, const BFloat16*, const BFloat16*, bool, float*);
template void multiply_widened(const GemmShape&, const BFloat16*, const BFloat16*, bool, BFloat16*);

}  // namespace shardline::kernels
