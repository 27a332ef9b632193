#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/svg.h"

namespace shardline::tools {

/// How values are placed along an axis.
enum class Scaling : std::uint8_t {
  decimal,  ///< logarithmic; ticks at 1, 2 and 5 times powers of ten, or at powers of ten
  binary,   ///< logarithmic; ticks at powers of two
  linear,   ///< from 0, or from the smallest of values that vary little
};

/// One axis of a plot.
struct PlotAxis {
  std::string label;
  Scaling scaling = Scaling::decimal;
  std::string (*tick)(double value) = nullptr;  ///< the text of a tick, with its unit
};

/// A number with few digits and a decimal prefix, for a tick: "20 GB/s", "5 k", "0 s".
std::string with_prefix(double value, const char* unit);

/// At least two rising ticks that enclose `values`. All values must have places on an axis of this
/// scaling.
std::vector<double> ticks_of(Scaling scaling, const std::vector<double>& values);

/// The visible part of an axis, from the first to the last tick. It covers the user units from
/// `first` to `last`.
class Scale {
 public:
  Scale(Scaling scaling, double begin, double end, double first, double last);
  /// The place of `value`. Values outside lie beyond the ends.
  double operator()(double value) const;
  /// True if a value has a place on an axis of this scaling, inside or outside: it is finite, and
  /// positive if the axis is logarithmic.
  static bool has_place(Scaling scaling, double value);

 private:
  bool logarithmic_;
  double begin_;
  double end_;
  double first_;
  double last_;
};

/// The frame of a plot: axes with ticks, grid and labels.
class PlotFrame {
 public:
  /// Its ticks enclose all of `xs` and `ys`, which must have places. `top` is the place of the
  /// label of y.
  PlotFrame(const PlotAxis& x, const PlotAxis& y, const std::vector<double>& xs, const std::vector<double>& ys,
            double top);

  Place at(double x, double y) const { return {x_(x), y_(y)}; }
  const Box& box() const { return box_; }
  /// The bottom of everything drawn here.
  double bottom() const;
  std::string svg() const;
  /// `elements`, cut at the frame.
  std::string inside(const std::string& elements) const;

 private:
  PlotAxis x_axis_;
  PlotAxis y_axis_;
  std::vector<double> x_ticks_;
  std::vector<double> y_ticks_;
  double top_;
  Box box_;
  Scale x_;
  Scale y_;
};

}  // namespace shardline::tools
