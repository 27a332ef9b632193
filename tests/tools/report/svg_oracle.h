#pragma once

#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::tools {

/// The number of times that `text` contains `what`.
Index occurrences(const std::string& text, const std::string& what);

struct SvgPoint {
  double x = 0;
  double y = 0;
};

/// The value of an attribute of the element that begins at `at`. If there is none, a test failure and 0.
double attribute(const std::string& svg, std::size_t at, const std::string& name);

/// The positions of the elements that begin with `element`, by cx and cy or by x and y.
std::vector<SvgPoint> points_of(const std::string& svg, const std::string& element);

/// The axes of a plot, read from two tick texts of each axis.
struct SvgAxes {
  double x_tick[2] = {};  ///< values of ticks
  double x_at[2] = {};    ///< and their positions
  double y_tick[2] = {};
  double y_at[2] = {};

  /// The values at coordinates.
  double x_linear(double x) const;
  double y_linear(double y) const;
  double x_logarithmic(double x) const;
  double y_logarithmic(double y) const;
};

/// From the texts of two ticks of x, which are centred, and two of y, which end at the axis. The texts must be
/// numbers, with an optional unit after a blank, which `unit` translates.
SvgAxes axes_of(const std::string& svg, const std::string& x0, const std::string& x1, const std::string& y0,
                const std::string& y1);

}  // namespace shardline::tools
