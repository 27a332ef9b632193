#pragma once

#include <vector>

namespace shardline::roofline {

/// How a rate depends on a size, from measurements at some sizes.
class Curve {
 public:
  struct Point {
    double size = 0;
    double rate = 0;
    bool operator==(const Point&) const = default;
  };

  Curve() = default;
  /// Throws Error unless sizes rise and all is positive.
  explicit Curve(std::vector<Point> points);

  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  /// The rate at `size`: logarithms are interpolated between neighbours, and beyond either end the rate there holds.
  /// Throws Error when there are no points.
  double at(double size) const;
  bool operator==(const Curve&) const = default;

 private:
  std::vector<Point> points_;
};

}  // namespace shardline::roofline
