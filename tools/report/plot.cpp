#include "tools/report/plot.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardline::tools {
namespace {

constexpr std::size_t kMostMarked = 64;  ///< curves with more points have no markers
constexpr double kLegendLine = 1.4 * kRoomyLetters;
constexpr double kNameGap = 7;
constexpr double kSample = 20;  ///< length of the piece of a curve in the legend

/// A marker of radius about 4 at `at`.
std::string marker(std::size_t shape, Place at, const Ink& ink, const std::string& title) {
  constexpr double kSize = 4;
  const std::string paint = attributes({.fill = &ink});
  const std::string end = title.empty() ? "/>\n" : fmt::format("><title>{}</title></", xml_text(title));
  const auto closed = [&](const std::string& element, const std::string& geometry) {
    return fmt::format("<{} {} {}{}", element, geometry, paint, title.empty() ? end : end + element + ">\n");
  };
  const auto polygon = [&](const std::vector<PlotPoint>& corners) {
    std::string points;
    for (const auto& [dx, dy] : corners) points += fmt::format(" {:.2f},{:.2f}", at.x + kSize * dx, at.y + kSize * dy);
    return closed("polygon", fmt::format("points='{}'", points.substr(1)));
  };
  switch (shape % 5) {
    case 0:
      return closed("circle", fmt::format("cx='{:.2f}' cy='{:.2f}' r='3.5'", at.x, at.y));
    case 1:
      return polygon({{-0.8, -0.8}, {0.8, -0.8}, {0.8, 0.8}, {-0.8, 0.8}});
    case 2:
      return polygon({{0, -1.1}, {1.05, 0.8}, {-1.05, 0.8}});
    case 3:
      return polygon({{0, -1.2}, {1.2, 0}, {0, 1.2}, {-1.2, 0}});
    default:
      return polygon({{0, 1.1}, {1.05, -0.8}, {-1.05, -0.8}});
  }
}

/// Draws a plot, element by element.
class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot), frame_(frame_of(plot)) {}

  std::string svg() const {
    const std::string description =
        fmt::format("{}: {} against {}", plot_.title.empty() ? "Plot" : plot_.title, plot_.y.label, plot_.x.label);
    std::string elements;
    if (!plot_.title.empty()) elements += svg_text({0, kLetters + 2}, Anchor::start, plot_.title);
    elements += frame_.svg() + frame_.inside(guides()) + curves();
    double bottom = frame_.bottom();
    elements += legend(bottom);
    return svg_figure(bottom, description, elements);
  }

 private:
  static PlotFrame frame_of(const Plot& plot) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const PlotCurve& curve : plot.curves) {
      for (const PlotPoint& point : curve.points) {
        if (!drawable(plot, point)) continue;
        xs.push_back(point.first);
        ys.push_back(point.second);
      }
    }
    return {plot.x, plot.y, xs, ys, plot.title.empty() ? 0 : kLegendLine};
  }

  static bool drawable(const Plot& plot, const PlotPoint& point) {
    return Scale::has_place(plot.x.scaling, point.first) && Scale::has_place(plot.y.scaling, point.second);
  }

  static const Ink& ink(const PlotCurve& curve) { return category_ink(curve.color); }
  Place at(const PlotPoint& point) const { return frame_.at(point.first, point.second); }

  /// Guides differ in the length of their dashes.
  static Paint dashes(std::size_t guide) {
    return {
        .stroke = &kMuted, .width = 1.2, .as = guide % 2 == 0 ? "stroke-dasharray='7 7'" : "stroke-dasharray='3 3'"};
  }

  std::string guides() const {
    std::string text;
    for (std::size_t i = 0; i < plot_.guides.size(); ++i) {
      const PlotGuide& guide = plot_.guides[i];
      if (!drawable(plot_, guide.from) || !drawable(plot_, guide.to)) continue;
      text += svg_line(at(guide.from), at(guide.to), dashes(i));
    }
    return text;
  }

  std::string curves() const {
    std::string text;
    for (const PlotCurve& curve : plot_.curves) {
      std::string points;
      std::string markers;
      for (const PlotPoint& point : curve.points) {
        if (!drawable(plot_, point)) continue;
        const Place place = at(point);
        points += fmt::format(" {:.2f},{:.2f}", place.x, place.y);
        markers += marker(curve.marker, place, ink(curve),
                          fmt::format("{}: {}, {}", curve.name, plot_.x.tick(point.first), plot_.y.tick(point.second)));
      }
      if (points.empty()) continue;
      text += fmt::format("<polyline points='{}' {}/>\n", points.substr(1),
                          attributes({.stroke = &ink(curve), .width = 1.8}));
      if (curve.points.size() <= kMostMarked) text += markers;
    }
    return text;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const PlotCurve& curve : plot_.curves) names.push_back(curve.name);
    for (const PlotGuide& guide : plot_.guides) names.push_back(guide.name);
    return names;
  }

  /// Has as many columns as fit the names. Moves `bottom` below it.
  std::string legend(double& bottom) const {
    double width = 0;
    const std::vector<std::string> all = names();
    if (all.empty()) return "";
    for (const std::string& name : all) width = std::max(width, kSample + 2 * kNameGap + roomy_width(name));
    const auto columns = static_cast<std::size_t>(std::clamp(kFigureWidth / width, 1.0, 3.0));
    const std::size_t lines = (all.size() + columns - 1) / columns;
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t column = i / lines;
      const double x = kFigureWidth / static_cast<double>(columns) * static_cast<double>(column);
      const double y = bottom + kLegendLine * (static_cast<double>(i % lines) + 0.6);
      const bool is_curve = i < plot_.curves.size();
      const Paint paint =
          is_curve ? Paint{.stroke = &ink(plot_.curves[i]), .width = 1.8} : dashes(i - plot_.curves.size());
      text += svg_line({x, y}, {x + kSample, y}, paint);
      if (is_curve) text += marker(plot_.curves[i].marker, {x + kSample / 2, y}, ink(plot_.curves[i]), "");
      text += svg_text({x + kSample + kNameGap, y + 0.35 * kLetters}, Anchor::start, all[i]);
    }
    bottom += kLegendLine * (static_cast<double>(lines) + 0.3);
    return text;
  }

  const Plot& plot_;
  PlotFrame frame_;
};

}  // namespace

std::string to_svg(const Plot& plot) { return Drawing(plot).svg(); }

}  // namespace shardline::tools
