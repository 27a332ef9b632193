#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "collectives/schedule/packing.h"
#include "runtime/base/shape.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// An array [m, n, rows, ...] whose rows are only partly in use. A cell is a position (i, j) of its two leading dims.
/// The first rows of each cell are in use. Offsets and sizes are in bytes.
struct Cells {
  const std::int32_t* counts = nullptr;  ///< [m, n]: rows in use of each cell
  Index columns = 0;                     ///< n
  Range rows;                            ///< of a cell: those that the array has
  Index row_bytes = 0;

  /// The begin of cell (i, j) in the array.
  Index begin(Index i, Index j) const { return (i * columns + j) * rows.size() * row_bytes; }
  /// What is in use of cell (i, j).
  Index used(Index i, Index j) const {
    return std::clamp<Index>(counts[i * columns + j] - rows.begin, 0, rows.size()) * row_bytes;
  }
};

/// The cells of an array of at least three dims; `counts` is i32 of its leading dims, and must stay. Row `first` of a
/// cell is the first that the array has.
Cells cells_of(const Tensor& array, const Tensor& counts, Index first);

/// The cells in two ranges of the leading dims. They are visited row-major.
struct CellBox {
  Range outer;
  Range inner;

  /// The leading dims of `box`.
  static CellBox of(const Box& box) { return {box.at(0), box.at(1)}; }
};

/// What is in use of all cells of a box.
Index bytes_in_use(const Cells& cells, const CellBox& box);

/// Copies the rows in use of a box of `array` to `packed`, one cell after the other.
void pack_rows(const Cells& cells, const CellBox& box, const std::byte* array, std::byte* packed);

/// The reverse of pack_rows().
void unpack_rows(const Cells& cells, const CellBox& box, const std::byte* packed, std::byte* array);

}  // namespace shardline::collectives
