#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardline::tools {

/// A point of a curve: x and y.
using PlotPoint = std::pair<double, double>;

/// One axis of a plot, logarithmic.
struct PlotAxis {
  std::string label;
  bool binary = false;                          ///< ticks at powers of two instead of 1, 2 and 5 times powers of ten
  std::string (*tick)(double value) = nullptr;  ///< the text of a tick, with its unit
};

/// Curves of one colour or one marker belong together, whatever that means to the caller.
struct PlotCurve {
  std::string name;
  std::vector<PlotPoint> points;  ///< those that are not positive are left out
  std::size_t color = 0;
  std::size_t marker = 0;
};

/// A dashed line between two points, cut at the frame.
struct PlotGuide {
  std::string name;
  PlotPoint from;
  PlotPoint to;
};

struct Plot {
  std::string title;
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotCurve> curves;
  std::vector<PlotGuide> guides;
};

/// The plot, with a legend at its right, as one self-contained SVG file.
std::string to_svg(const Plot& plot);

/// `text` as XML shows it: &, <, > and quotes by their names, control characters by a blank.
std::string xml_text(const std::string& text);

}  // namespace shardline::tools
