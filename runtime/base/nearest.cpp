#include "runtime/base/nearest.h"

#include <algorithm>
#include <numeric>

namespace shardline {
namespace {

/// The Levenshtein distance: letters to add, drop and change. Computed row by row.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = before + (a[i] == b[j] ? 0 : 1);
      before = row[j + 1];
      row[j + 1] = std::min({changed, before + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(std::string_view text, const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> sorted = names;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const std::string& a, const std::string& b) { return distance(text, a) < distance(text, b); });
  sorted.resize(std::min(sorted.size(), kMost));
  return sorted;
}

}  // namespace shardline
