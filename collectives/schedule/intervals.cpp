#include "collectives/schedule/intervals.h"

#include <algorithm>

namespace shardline::collectives {
namespace {

bool ends_before(const Range& range, Index position) { return range.end < position; }

}  // namespace

void Intervals::add(Range range) {
  if (range.size() <= 0) return;
  // Intervals that overlap or touch it merge with it.
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin, ends_before);
  auto last = first;
  for (; last != ranges_.end() && last->begin <= range.end; ++last) {
    range = {std::min(range.begin, last->begin), std::max(range.end, last->end)};
  }
  ranges_.insert(ranges_.erase(first, last), range);
}

bool Intervals::contains(Range range) const {
  if (range.size() <= 0) return true;
  const auto found = std::lower_bound(ranges_.begin(), ranges_.end(), range.end, ends_before);
  return found != ranges_.end() && found->begin <= range.begin;
}

std::vector<Range> Intervals::missing(Range range) const {
  std::vector<Range> gaps;
  for (auto it = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin, ends_before);
       it != ranges_.end() && it->begin < range.end; ++it) {
    if (range.begin < it->begin) gaps.push_back({range.begin, it->begin});
    range.begin = std::max(range.begin, it->end);
  }
  if (range.size() > 0) gaps.push_back(range);
  return gaps;
}

Index Intervals::size() const {
  Index sum = 0;
  for (const Range& range : ranges_) sum += range.size();
  return sum;
}

}  // namespace shardline::collectives
