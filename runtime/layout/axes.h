#pragma once

#include <string>
#include <vector>

namespace shardline {

/// Name of a mesh axis. One letter is written bare (`I_X`), longer names in braces (`I_{data}`).
using Axis = std::string;

/// An ordered list of axes, major first.
using Axes = std::vector<Axis>;

bool contains(const Axes& axes, const Axis& axis);

/// `axes` without `axis`, order kept.
Axes without(const Axes& axes, const Axis& axis);

/// True when `axes` starts with all of `prefix`.
bool starts_with(const Axes& axes, const Axes& prefix);

/// Canonical subscript text: "XY" when every name has one letter, otherwise "{data,model}".
std::string to_string(const Axes& axes);

}  // namespace shardline
