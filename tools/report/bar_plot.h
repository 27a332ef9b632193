#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/units.h"
#include "tools/report/svg.h"

namespace shardline::tools {

/// A time that was predicted and, except of a plan, measured.
struct Bars {
  std::string name;
  Seconds predicted;
  std::optional<Seconds> measured;
  const Ink* ink = &kText;  ///< of the measured bar
};

/// Bars of predicted beside measured times, all from 0 on one linear scale, in the order given.
std::string bars_svg(const std::vector<Bars>& bars);

}  // namespace shardline::tools
