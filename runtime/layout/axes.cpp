#include "runtime/layout/axes.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace shardline {

bool contains(const Axes& axes, const Axis& axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

Axes without(const Axes& axes, const Axis& axis) {
  Axes rest;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(rest), [&](const Axis& a) { return a != axis; });
  return rest;
}

bool starts_with(const Axes& axes, const Axes& prefix) {
  return axes.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), axes.begin());
}

std::string to_string(const Axes& axes) {
  const bool bare = std::all_of(axes.begin(), axes.end(), [](const Axis& a) { return a.size() == 1; });
  return bare ? fmt::format("{}", fmt::join(axes, "")) : fmt::format("{{{}}}", fmt::join(axes, ","));
}

}  // namespace shardline
