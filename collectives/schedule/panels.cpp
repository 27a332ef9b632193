#include "collectives/schedule/panels.h"

#include <algorithm>
#include <utility>

#include "runtime/layout/blocks.h"

namespace shardline::collectives {
namespace {

/// The first and the last range of an order that have elements of a panel.
struct Place {
  std::size_t first;
  std::size_t last;
};

/// Both are order.size() if the panel has no elements. `last` is order.size() if some elements are in no range.
Place place_in(const std::vector<Range>& order, Range elements) {
  Place place{order.size(), order.size()};
  Index missing = elements.size();
  for (std::size_t i = 0; i < order.size() && missing > 0; ++i) {
    const Index common = std::min(order[i].end, elements.end) - std::max(order[i].begin, elements.begin);
    if (common <= 0) continue;
    place.first = std::min(place.first, i);
    missing -= common;
    if (missing == 0) place.last = i;
  }
  return place;
}

/// The panels sorted by a member of their place in `order`. Ties keep ascending rows.
std::vector<Range> sorted(const Rows& rows, const std::vector<Range>& order, std::size_t Place::*by) {
  std::vector<std::pair<std::size_t, Range>> placed;
  for (const Range& panel : panels(rows)) placed.emplace_back(place_in(order, rows.elements_of(panel)).*by, panel);
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Range> result;
  for (const auto& [place, panel] : placed) result.push_back(panel);
  return result;
}

}  // namespace

std::vector<Range> panels(const Rows& rows) {
  std::vector<Range> all;
  for (const Range& whole : rows.blocks) {
    const Index pieces = (whole.size() + rows.panel - 1) / rows.panel;
    for (Index i = 0; i < pieces; ++i) {
      const Range piece = block(whole.size(), pieces, i);
      all.push_back({whole.begin + piece.begin, whole.begin + piece.end});
    }
  }
  return all;
}

std::vector<Range> panels_as_completed(const Rows& rows, const std::vector<Range>& order) {
  return sorted(rows, order, &Place::last);
}

std::vector<Range> panels_as_touched(const Rows& rows, const std::vector<Range>& order) {
  return sorted(rows, order, &Place::first);
}

}  // namespace shardline::collectives
