#pragma once

#include <vector>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// An array as rows along dim 0 that are cut into blocks, one for each position, and blocks into panels.
struct Rows {
  Index count = 0;
  Index elements = 0;           ///< of one row; may be 0
  Index panel = 1;              ///< rows of the largest panel
  std::vector<Range> blocks{};  ///< of rows, one after the other; together they are all rows

  /// The flat elements of some rows.
  Range elements_of(Range rows) const { return {rows.begin * elements, rows.end * elements}; }
};

/// Panels of all rows, each row in one of them, in the order in which `order`, ranges of flat elements, has had all
/// elements of a row. No panel straddles two blocks. Rows that `order` does not have come last.
std::vector<Range> panels_as_completed(const Rows& rows, const std::vector<Range>& order);

/// The same in the order in which `order` first touches a row.
std::vector<Range> panels_as_touched(const Rows& rows, const std::vector<Range>& order);

}  // namespace shardline::collectives
