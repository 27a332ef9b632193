#include "collectives/panels.h"

#include <algorithm>

#include "collectives/intervals.h"
#include "runtime/blocks.h"

namespace shardline::collectives {
namespace {

/// The rows that a range of elements has a part of.
Range touched(const Rows& rows, Range elements) {
  if (elements.size() == 0 || rows.elements == 0) return {0, 0};
  return {elements.begin / rows.elements, (elements.end + rows.elements - 1) / rows.elements};
}

/// Takes rows in any order and gives them out once, as panels.
class Cutter {
 public:
  explicit Cutter(const Rows& rows) : rows_(rows) {}

  void add(Range rows) {
    for (const Range& fresh : taken_.missing(rows)) {
      for (const Range& block : rows_.blocks) {
        cut({std::max(fresh.begin, block.begin), std::min(fresh.end, block.end)});
      }
    }
    taken_.add(rows);
  }
  std::vector<Range> finish() && {
    add({0, rows_.count});
    return std::move(panels_);
  }

 private:
  void cut(Range rows) {
    if (rows.size() <= 0) return;
    const Index pieces = (rows.size() + rows_.panel - 1) / rows_.panel;
    for (Index i = 0; i < pieces; ++i) {
      const Range piece = block(rows.size(), pieces, i);
      panels_.push_back({rows.begin + piece.begin, rows.begin + piece.end});
    }
  }

  const Rows& rows_;
  Intervals taken_;
  std::vector<Range> panels_;
};

}  // namespace

std::vector<Range> panels_as_completed(const Rows& rows, const std::vector<Range>& order) {
  Cutter cutter(rows);
  Intervals there;
  for (const Range& elements : order) {
    there.add(elements);
    // Only the rows at the ends of the range can lack something.
    Range complete = touched(rows, elements);
    const auto lacks = [&](Index row) { return !there.contains(rows.elements_of({row, row + 1})); };
    if (complete.size() > 0 && lacks(complete.begin)) ++complete.begin;
    if (complete.size() > 0 && lacks(complete.end - 1)) --complete.end;
    cutter.add(complete);
  }
  return std::move(cutter).finish();
}

std::vector<Range> panels_as_touched(const Rows& rows, const std::vector<Range>& order) {
  Cutter cutter(rows);
  for (const Range& elements : order) cutter.add(touched(rows, elements));
  return std::move(cutter).finish();
}

}  // namespace shardline::collectives
