#pragma once

#include <vector>

namespace shardline::roofline {

/// A rate as a function of a size, from measurements at some sizes.
class Curve {
 public:
  struct Point {
    double size = 0;
    double rate = 0;
    bool operator==(const Point&) const = default;
  };

  Curve() = default;
  /// Throws Error unless sizes rise and all numbers are positive.
  explicit Curve(std::vector<Point> points);

  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  /// The rate at `size`. Between two points the logarithms are interpolated. Beyond either end the rate of that
  /// end holds. Throws Error if there are no points.
  double at(double size) const;
  bool operator==(const Curve&) const = default;

 private:
  std::vector<Point> points_;
};

}  // namespace shardline::roofline
