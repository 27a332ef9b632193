#pragma once

#include <vector>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// An array as rows along dim 0. The rows are cut into blocks, one for each position, and the blocks into
/// panels.
struct Rows {
  Index count = 0;
  Index elements = 0;           ///< of one row; may be 0
  Index panel = 1;              ///< rows of the largest panel
  std::vector<Range> blocks{};  ///< of rows, one after the other; together they are all rows

  /// The flat elements of some rows.
  Range elements_of(Range rows) const { return {rows.begin * elements, rows.end * elements}; }
};

/// Cuts every block into near-equal panels, in ascending order. The same at every position. Each row is in one
/// panel.
std::vector<Range> panels(const Rows& rows);

/// The same panels in the order in which `order` completes them. `order` has ranges of flat elements. Panels
/// that it does not complete come last.
std::vector<Range> panels_as_completed(const Rows& rows, const std::vector<Range>& order);

/// The same panels in the order in which `order` first touches them. Those that it does not touch come last.
std::vector<Range> panels_as_touched(const Rows& rows, const std::vector<Range>& order);

}  // namespace shardline::collectives
