#pragma once

#include <functional>
#include <string>
#include <vector>

#include "roofline/machine/machine.h"

namespace shardline::roofline {

/// Calls `visit` with every figure of a machine that is measured and its path in the machine's file (a JSON pointer),
/// in one order. What it changes is changed in the machine.
void for_each_figure(Machine& machine, const std::function<void(const std::string& path, double& figure)>& visit);

/// How far apart the middle half of the repetitions of a figure may lie, as a share of their median, for it to be
/// relied on.
inline constexpr double kReliableSpread = 0.06;

/// One machine from several measurements of it: the median of every figure. Figures of which the middle half lies
/// further apart than kReliableSpread are named in `measured.unreliable`, as all are when there is one measurement
/// only. Throws Error when the measurements do not have the same figures.
Machine combine(const std::vector<Machine>& rounds);

}  // namespace shardline::roofline
