#include "models/parity/packed_text.h"

namespace shardline {
namespace {

/// True if a document begins at this column. The column after the last may begin one too.
bool begins(Index sample, Index column) { return column == 0 || (sample + column * column) % 5 < 2; }

bool ends(Index sample, Index column) { return begins(sample, column + 1); }

std::int32_t start_of(Index sample, Index column) {
  while (!begins(sample, column)) --column;
  return static_cast<std::int32_t>(column);
}

}  // namespace

Tensor PackedText::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  if (input == 0) return text_.block(series, input, samples, columns, dtype);
  Tensor block = input == 1 ? text_.block(series, input, samples, columns, dtype)
                            : Tensor(dtype, {samples.size(), columns.size()});
  auto next = block.view<std::int32_t>().begin();
  for (Index i = samples.begin; i < samples.end; ++i) {
    for (Index column = columns.begin; column < columns.end; ++column, ++next) {
      if (input == 2) *next = start_of(i, column);
      if (input == 1 && ends(i, column)) *next = -1;
    }
  }
  return block;
}

Index PackedText::masked_labels(Series /*series*/, Range samples) const {
  Index masked = 0;
  for (Index i = samples.begin; i < samples.end; ++i) {
    for (Index column = 0; column < text_.sequence(); ++column) masked += ends(i, column) ? 1 : 0;
  }
  return masked;
}

}  // namespace shardline
