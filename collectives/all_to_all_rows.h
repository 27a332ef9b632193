#pragma once

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// How many rows of each cell are in use; see start_all_to_all_rows(). i32 of the two leading dims of the operand and
/// of the result.
struct RowsInUse {
  const Tensor& before;  ///< of `in`
  const Tensor& after;   ///< of `out`: the same counts, moved as the cells are
  /// Where other axes split dim 2: the row of a cell with which this rank's part begins, and the rows of a whole cell.
  /// A count is of the whole cell. 0 rows: dim 2 is whole here.
  Index first = 0;
  Index whole = 0;
};

/// Collective over `axes` (ordered, major first): as start_all_to_all() from dim `gather_dim`, which is 0 or 1, to the
/// other one of these two dims. It moves only rows in use. The arrays have at least three dims. A cell is a position of
/// dims 0 and 1. It has rows along dim 2, and its first rows are in use, as many as `rows` says. The same rows of `out`
/// get the values. All other rows of `out` stay as they are, and those of `in` are never read. A message holds the rows
/// in use alone. Ranks without common rows exchange no message. Algorithms: pairwise, direct and native; automatic is
/// direct where the ranks can read both arrays from each other, else pairwise. Handle::wire_bytes() counts the bytes of
/// the rows that left this rank, or that it read from others. `in`, `out` and `rows` must stay until the run is done.
/// `in` and `out` must not overlap. Throws Error on wrong shapes, and on a count that is not legal or not the same
/// before and after.
Handle start_all_to_all_rows(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, Tensor& out,
                             const RowsInUse& rows, const Options& options = {});
/// start_all_to_all_rows() and wait().
void all_to_all_rows(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, Tensor& out,
                     const RowsInUse& rows, const Options& options = {});

}  // namespace shardline::collectives
