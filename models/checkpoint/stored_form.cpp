#include "models/checkpoint/stored_form.h"

#include <cstdint>

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Two products: the extents of the first `input_dims` dims, and those of the other dims.
std::pair<Index, Index> matrix_extents(const Shape& shape, int input_dims) {
  Index in = 1;
  Index out = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) (static_cast<int>(d) < input_dims ? in : out) *= shape[d];
  return {in, out};
}

/// Transposes in squares that stay in the cache. Words of equal size have equal bits, whatever they mean.
template <class Word>
void transpose(const std::byte* from, std::byte* to, Index rows, Index columns) {
  constexpr Index kSide = 32;
  const auto* source = reinterpret_cast<const Word*>(from);
  auto* target = reinterpret_cast<Word*>(to);
  for (Index r0 = 0; r0 < rows; r0 += kSide) {
    for (Index c0 = 0; c0 < columns; c0 += kSide) {
      const Index r1 = std::min(rows, r0 + kSide);
      const Index c1 = std::min(columns, c0 + kSide);
      for (Index c = c0; c < c1; ++c) {
        for (Index r = r0; r < r1; ++r) target[c * rows + r] = source[r * columns + c];
      }
    }
  }
}

/// Transposes a [rows, columns] matrix.
Tensor transposed(const Tensor& matrix) {
  const Index rows = matrix.extent(0);
  const Index columns = matrix.extent(1);
  Tensor result(matrix.dtype(), {columns, rows});
  switch (size_of(matrix.dtype())) {
    case 2:
      transpose<std::uint16_t>(matrix.data(), result.data(), rows, columns);
      break;
    case 4:
      transpose<std::uint32_t>(matrix.data(), result.data(), rows, columns);
      break;
    case 8:
      transpose<std::uint64_t>(matrix.data(), result.data(), rows, columns);
      break;
    default:
      throw Error(fmt::format("no weights are of {}", name_of(matrix.dtype())));
  }
  return result;
}

}  // namespace

Shape stored_shape(const Shape& shape, int input_dims) {
  if (input_dims == 0) return shape;
  const auto [in, out] = matrix_extents(shape, input_dims);
  return {out, in};
}

Tensor to_stored(const Tensor& block, int input_dims) {
  if (input_dims == 0) return block;
  const auto [in, out] = matrix_extents(block.shape(), input_dims);
  return transposed(block.reshaped({in, out}));
}

Tensor from_stored(const Tensor& stored, const Shape& shape, int input_dims) {
  if (input_dims == 0) return stored.reshaped(shape);
  const auto [in, out] = matrix_extents(shape, input_dims);
  return transposed(stored.reshaped({out, in})).reshaped(shape);
}

}  // namespace shardline
