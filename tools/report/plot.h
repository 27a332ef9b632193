#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/report/plot_frame.h"

namespace shardline::tools {

/// A point of a curve: x and y.
using PlotPoint = std::pair<double, double>;

/// Curves of one colour or one marker belong together, whatever that means to the caller.
struct PlotCurve {
  std::string name;
  std::vector<PlotPoint> points;  ///< those without a place on the axes are left out
  std::size_t color = 0;
  std::size_t marker = 0;
};

/// A dashed line between two points, straight on the plot and cut at the frame.
struct PlotGuide {
  std::string name;
  PlotPoint from;
  PlotPoint to;
};

struct Plot {
  std::string title;  ///< drawn above, unless it is empty
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotCurve> curves;
  std::vector<PlotGuide> guides = {};
};

/// The plot with a legend below it, as a figure (see svg_figure()). Curves of many points have no markers; a reader who
/// points at a marker sees the curve's name and the values.
std::string to_svg(const Plot& plot);

}  // namespace shardline::tools
