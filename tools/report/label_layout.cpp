#include "tools/report/label_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardline::tools {
namespace {

/// From a point to its label, in the order of the attempts.
struct Direction {
  double x;
  double y;
  Anchor anchor;
};
constexpr std::array kDirections = {Direction{1, 0, Anchor::start},      Direction{-1, 0, Anchor::end},
                                    Direction{0, -1, Anchor::middle},    Direction{0, 1, Anchor::middle},
                                    Direction{0.8, -0.8, Anchor::start}, Direction{0.8, 0.8, Anchor::start},
                                    Direction{-0.8, -0.8, Anchor::end},  Direction{-0.8, 0.8, Anchor::end}};

constexpr double kHeight = 1.1 * kRoomyLetters;
constexpr double kNearest = 8;  ///< distance of a point's own label
constexpr double kStep = 7;     ///< step away from the point, until there is room
constexpr double kApart = 20;

/// The box of a text of `width` in `direction` from `point`, `distance` away.
Box box_at(Place point, const Direction& direction, double distance, double width) {
  const Place next = {point.x + distance * direction.x, point.y + distance * direction.y};
  const double left = direction.anchor == Anchor::start ? next.x
                      : direction.anchor == Anchor::end ? next.x - width
                                                        : next.x - width / 2;
  const double top = direction.anchor != Anchor::middle ? next.y - kHeight / 2
                     : direction.y < 0                  ? next.y - kHeight
                                                        : next.y;
  return {left, top, width, kHeight};
}

}  // namespace

void LabelLayout::occupy(Place from, Place to, double margin) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const auto pieces = std::max(1, static_cast<int>(std::ceil(length / std::max(margin, 1.0))));
  for (int i = 0; i <= pieces; ++i) {
    const double share = static_cast<double>(i) / pieces;
    const Place at = {from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)};
    occupy({at.x - margin, at.y - margin, 2 * margin, 2 * margin});
  }
}

bool LabelLayout::is_free(const Box& box) const {
  if (box.left < within_.left || box.right() > within_.right() || box.top < within_.top ||
      box.bottom() > within_.bottom()) {
    return false;
  }
  return std::none_of(taken_.begin(), taken_.end(), [&](const Box& other) { return box.overlaps(other); });
}

std::optional<LabelLayout::Label> LabelLayout::place(Place point, const std::string& text, double reach) {
  const double width = roomy_width(text) + 4;
  for (double distance = kNearest; distance <= reach; distance += kStep) {
    for (const Direction& direction : kDirections) {
      const Box box = box_at(point, direction, distance, width);
      if (!is_free(box)) continue;
      occupy(box);
      const double baseline = box.top + kHeight / 2 + 0.35 * kLetters;
      const double x = direction.anchor == Anchor::start ? box.left
                       : direction.anchor == Anchor::end ? box.right()
                                                         : box.left + width / 2;
      const Place begin = {std::clamp(point.x, box.left, box.right()), std::clamp(point.y, box.top, box.bottom())};
      return Label{{x, baseline}, direction.anchor, begin, distance > kApart};
    }
  }
  return std::nullopt;
}

}  // namespace shardline::tools
