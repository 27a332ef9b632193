#pragma once

#include <functional>
#include <string>
#include <vector>

#include "roofline/machine/machine.h"

namespace shardline::roofline {

/// Calls `visit` with every measured figure of a machine and its path in the file (a JSON pointer), in a fixed
/// order. `visit` may change the figure in the machine.
void for_each_figure(Machine& machine, const std::function<void(const std::string& path, double& figure)>& visit);

/// A figure is reliable if the middle half of its repetitions lies within this share of their median.
inline constexpr double kReliableSpread = 0.06;

/// One machine from several measurements of it: the median of every figure. `measured.unreliable` names the
/// figures whose middle half spreads more than kReliableSpread, or all figures if there is only one
/// measurement. Throws Error if the measurements do not have the same figures.
Machine combine(const std::vector<Machine>& rounds);

}  // namespace shardline::roofline
