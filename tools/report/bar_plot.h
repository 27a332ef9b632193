#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/units.h"
#include "tools/report/svg.h"

namespace shardline::tools {

/// A predicted time and, except for a plan, a measured one.
struct Bars {
  std::string name;
  Seconds predicted;
  std::optional<Seconds> measured;
  const Ink* ink = &kText;  ///< of the measured bar
};

/// Bars of predicted and measured times, from 0 on one linear scale, in the given order.
std::string bars_svg(const std::vector<Bars>& bars);

}  // namespace shardline::tools
