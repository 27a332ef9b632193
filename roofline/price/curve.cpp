#include "roofline/price/curve.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace shardline::roofline {

Curve::Curve(std::vector<Point> points) : points_(std::move(points)) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    SHARDLINE_CHECK(point.size > 0 && point.rate > 0, "a rate of {} at size {}", point.rate, point.size);
    SHARDLINE_CHECK(i == 0 || points_[i - 1].size < point.size, "size {} after {}", point.size, points_[i - 1].size);
  }
}

double Curve::at(double size) const {
  SHARDLINE_CHECK(!points_.empty(), "a curve without points was asked for size {}", size);
  const auto above =
      std::find_if(points_.begin(), points_.end(), [&](const Point& point) { return point.size >= size; });
  if (above == points_.begin()) return above->rate;
  if (above == points_.end()) return points_.back().rate;
  const Point& low = *(above - 1);
  const double way = std::log(size / low.size) / std::log(above->size / low.size);
  return low.rate * std::pow(above->rate / low.rate, way);
}

}  // namespace shardline::roofline
