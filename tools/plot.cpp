#include "tools/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardline::tools {
namespace {

// The frame that the curves are drawn in, and what lies round it, in pixels.
constexpr double kLeft = 88;
constexpr double kTop = 44;
constexpr double kWidth = 600;
constexpr double kHeight = 400;
constexpr double kRight = kLeft + kWidth;
constexpr double kBottom = kTop + kHeight;
constexpr double kBelow = 60;
constexpr double kLegend = kRight + 20;
constexpr double kLegendLine = 20;
constexpr double kLetter = 7;  // how wide a letter is at most, on average

// Told apart by colour-blind readers too (Okabe and Ito), light yellow left out.
constexpr std::array kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

/// The part of an axis that is shown: from `begin` to `end`, logarithmically over the pixels from `first` to `last`.
struct Scale {
  double begin = 1;
  double end = 10;
  double first = 0;
  double last = 1;

  double operator()(double value) const {
    return first + (last - first) * std::log(value / begin) / std::log(end / begin);
  }
};

bool drawable(const PlotPoint& point) {
  return point.first > 0 && point.second > 0 && std::isfinite(point.first) && std::isfinite(point.second);
}

/// Powers of two from below `least` to above `most`, few enough to be read.
std::vector<double> binary_ticks(double least, double most) {
  constexpr int kTicks = 10;
  const int low = static_cast<int>(std::floor(std::log2(least)));
  const int high = std::max(low + 1, static_cast<int>(std::ceil(std::log2(most))));
  const int stride = (high - low + kTicks - 1) / kTicks;
  std::vector<double> ticks;
  for (int power = low; power < high + stride; power += stride) ticks.push_back(std::exp2(power));
  return ticks;
}

/// 1, 2 and 5 times powers of ten, powers of ten alone when there are many.
std::vector<double> decimal_ticks(double least, double most) {
  const int low = static_cast<int>(std::floor(std::log10(least)));
  const int high = static_cast<int>(std::floor(std::log10(most))) + 1;
  const std::vector<double> steps = high - low > 4 ? std::vector<double>{1} : std::vector<double>{1, 2, 5};
  std::vector<double> all;
  for (int power = low; power <= high + 1; ++power) {
    for (const double step : steps) all.push_back(step * std::pow(10.0, power));
  }
  std::vector<double> ticks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool needed_below = i + 1 < all.size() && all[i + 1] > least;
    const bool needed_above = i == 0 || all[i - 1] <= most;
    if (needed_below && needed_above) ticks.push_back(all[i]);
  }
  return ticks;
}

/// A marker of radius 4 or so round (x, y).
std::string marker(std::size_t shape, double x, double y, const char* color) {
  constexpr double kSize = 4;
  const auto polygon = [&](const std::vector<PlotPoint>& corners) {
    std::string points;
    for (const auto& [dx, dy] : corners) points += fmt::format(" {:.1f},{:.1f}", x + kSize * dx, y + kSize * dy);
    return fmt::format("<polygon points='{}' fill='{}'/>", points.substr(1), color);
  };
  switch (shape % 5) {
    case 0:
      return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='{}'/>", x, y, color);
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

/// Draws a plot element by element.
class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const PlotCurve& curve : plot.curves) {
      for (const PlotPoint& point : curve.points) {
        if (!drawable(point)) continue;
        xs.push_back(point.first);
        ys.push_back(point.second);
      }
    }
    x_ticks_ = ticks(plot.x, xs);
    y_ticks_ = ticks(plot.y, ys);
    x_ = {x_ticks_.front(), x_ticks_.back(), kLeft, kRight};
    y_ = {y_ticks_.front(), y_ticks_.back(), kBottom, kTop};
  }

  std::string svg() const {
    const double lines = static_cast<double>(plot_.curves.size() + plot_.guides.size());
    const double height = std::max(kBottom + kBelow, kTop + kLegendLine * (lines + 1));
    std::string text = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 {0:.0f} {1:.0f}' "
        "font-family='Helvetica, Arial, sans-serif' font-size='12'>\n",
        kLegend + legend_width(), height);
    text += "<rect width='100%' height='100%' fill='white'/>\n";
    text += fmt::format("<clipPath id='frame'><rect x='{}' y='{}' width='{}' height='{}'/></clipPath>\n", kLeft, kTop,
                        kWidth, kHeight);
    return text + frame() + guides() + curves() + legend() + "</svg>\n";
  }

 private:
  static std::vector<double> ticks(const PlotAxis& axis, const std::vector<double>& values) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double low = values.empty() ? 1 : *least;
    const double high = values.empty() ? 10 : *most;
    return axis.binary ? binary_ticks(low, high) : decimal_ticks(low, high);
  }

  static std::string write(double x, double y, const std::string& anchor, const std::string& text) {
    return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>\n", x, y, anchor, xml_text(text));
  }

  static std::string line(const PlotPoint& from, const PlotPoint& to, const std::string& style) {
    return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' {}/>\n", from.first, from.second,
                       to.first, to.second, style);
  }

  static const char* color(const PlotCurve& curve) { return kColors.at(curve.color % kColors.size()); }
  /// Guides are told apart by the length of their dashes.
  static std::string dashes(std::size_t guide) {
    return fmt::format("stroke='#666666' stroke-width='1.2' stroke-dasharray='{0} {0}'", guide % 2 == 0 ? 7 : 3);
  }

  double legend_width() const {
    std::size_t letters = 0;
    for (const PlotCurve& curve : plot_.curves) letters = std::max(letters, curve.name.size());
    for (const PlotGuide& guide : plot_.guides) letters = std::max(letters, guide.name.size());
    return 48 + kLetter * static_cast<double>(letters);
  }

  std::string frame() const {
    std::string text;
    const std::string grid = "stroke='#dddddd'";
    for (const double tick : x_ticks_) {
      text += line({x_(tick), kTop}, {x_(tick), kBottom}, grid) +
              write(x_(tick), kBottom + 18, "middle", plot_.x.tick(tick));
    }
    for (const double tick : y_ticks_) {
      text +=
          line({kLeft, y_(tick)}, {kRight, y_(tick)}, grid) + write(kLeft - 8, y_(tick) + 4, "end", plot_.y.tick(tick));
    }
    text += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='none' stroke='black'/>\n", kLeft, kTop,
                        kWidth, kHeight);
    text += fmt::format("<text x='{}' y='{}' font-size='15'>{}</text>\n", kLeft, kTop - 16, xml_text(plot_.title));
    text += write(kLeft + kWidth / 2, kBottom + 42, "middle", plot_.x.label);
    return text + fmt::format("<text transform='translate(16 {}) rotate(-90)' text-anchor='middle'>{}</text>\n",
                              kTop + kHeight / 2, xml_text(plot_.y.label));
  }

  std::string guides() const {
    std::string text;
    for (std::size_t i = 0; i < plot_.guides.size(); ++i) {
      const auto& [name, from, to] = plot_.guides[i];
      if (!drawable(from) || !drawable(to)) continue;
      text += line({x_(from.first), y_(from.second)}, {x_(to.first), y_(to.second)},
                   dashes(i) + " clip-path='url(#frame)'");
    }
    return text;
  }

  std::string curves() const {
    std::string text;
    for (const PlotCurve& curve : plot_.curves) {
      std::string points;
      std::string markers;
      for (const PlotPoint& point : curve.points) {
        if (!drawable(point)) continue;
        points += fmt::format(" {:.1f},{:.1f}", x_(point.first), y_(point.second));
        markers += marker(curve.marker, x_(point.first), y_(point.second), color(curve)) + "\n";
      }
      if (points.empty()) continue;
      text += fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='1.8'/>\n", points.substr(1),
                          color(curve));
      text += markers;
    }
    return text;
  }

  std::string legend() const {
    std::string text;
    double y = kTop + 8;
    const auto add = [&](const std::string& style, const std::string& mark, const std::string& name) {
      text += line({kLegend, y}, {kLegend + 28, y}, style) + mark + write(kLegend + 36, y + 4, "start", name);
      y += kLegendLine;
    };
    for (const PlotCurve& curve : plot_.curves) {
      add(fmt::format("stroke='{}' stroke-width='1.8'", color(curve)),
          marker(curve.marker, kLegend + 14, y, color(curve)) + "\n", curve.name);
    }
    for (std::size_t i = 0; i < plot_.guides.size(); ++i) add(dashes(i), "", plot_.guides[i].name);
    return text;
  }

  const Plot& plot_;
  std::vector<double> x_ticks_;
  std::vector<double> y_ticks_;
  Scale x_;
  Scale y_;
};

}  // namespace

std::string to_svg(const Plot& plot) { return Drawing(plot).svg(); }

std::string xml_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return result;
}

}  // namespace shardline::tools
