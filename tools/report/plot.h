#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/report/plot_frame.h"

namespace shardline::tools {

/// A point of a curve: x and y.
using PlotPoint = std::pair<double, double>;

/// Curves with the same colour or the same marker belong together. The caller decides what that
/// means.
struct PlotCurve {
  std::string name;
  std::vector<PlotPoint> points;  ///< points without a place on the axes are left out
  std::size_t color = 0;
  std::size_t marker = 0;
};

/// A dashed straight line between two points, cut at the frame.
struct PlotGuide {
  std::string name;
  PlotPoint from;
  PlotPoint to;
};

struct Plot {
  std::string title;  ///< drawn above; empty for none
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotCurve> curves;
  std::vector<PlotGuide> guides = {};
};

/// The plot with a legend below it, as a figure (see svg_figure()). Curves with many points have no
/// markers. The tooltip of a marker has the curve's name and the values.
std::string to_svg(const Plot& plot);

}  // namespace shardline::tools
