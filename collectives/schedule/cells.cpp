#include "collectives/schedule/cells.h"

#include <cstring>

namespace shardline::collectives {
namespace {

/// Calls `visit(i, j)` for each cell of a box.
template <class Visit>
void for_each_cell(const CellBox& box, Visit visit) {
  for (Index i = box.outer.begin; i < box.outer.end; ++i) {
    for (Index j = box.inner.begin; j < box.inner.end; ++j) visit(i, j);
  }
}

/// Pointers may be null if there is nothing to copy.
void copy(const std::byte* from, std::byte* to, Index bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

Cells cells_of(const Tensor& array, const Tensor& counts, Index first) {
  const Shape& shape = array.shape();
  const Index row = element_count({shape.begin() + 3, shape.end()}) * size_of(array.dtype());
  return {counts.view<std::int32_t>().data, shape[1], {first, first + shape[2]}, row};
}

Index bytes_in_use(const Cells& cells, const CellBox& box) {
  Index sum = 0;
  for_each_cell(box, [&](Index i, Index j) { sum += cells.used(i, j); });
  return sum;
}

void pack_rows(const Cells& cells, const CellBox& box, const std::byte* array, std::byte* packed) {
  Index at = 0;
  for_each_cell(box, [&](Index i, Index j) {
    copy(array + cells.begin(i, j), packed + at, cells.used(i, j));
    at += cells.used(i, j);
  });
}

void unpack_rows(const Cells& cells, const CellBox& box, const std::byte* packed, std::byte* array) {
  Index at = 0;
  for_each_cell(box, [&](Index i, Index j) {
    copy(packed + at, array + cells.begin(i, j), cells.used(i, j));
    at += cells.used(i, j);
  });
}

}  // namespace shardline::collectives
