#include "tools/report/plot_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardline::tools {
namespace {

constexpr double kFrameHeight = 320;
constexpr double kLine = 1.3 * kRoomyLetters;       ///< height of a line of text
constexpr double kLabelRoom = 2.1 * kRoomyLetters;  ///< above a frame: the label of y and half a tick text
constexpr double kGap = 8;                          ///< between a frame and its tick texts
constexpr double kMargin = 20;                      ///< right of the frame

/// Powers of two from below `least` to above `most`, few enough to read.
std::vector<double> binary_ticks(double least, double most) {
  constexpr int kTicks = 10;
  const int low = static_cast<int>(std::floor(std::log2(least)));
  const int high = std::max(low + 1, static_cast<int>(std::ceil(std::log2(most))));
  const int stride = (high - low + kTicks - 1) / kTicks;
  std::vector<double> ticks;
  for (int power = low; power < high + stride; power += stride) ticks.push_back(std::exp2(power));
  return ticks;
}

/// 1, 2 and 5 times powers of ten. If there are many, only powers of ten.
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

/// About five multiples of 1, 2 or 5 times a power of ten.
std::vector<double> linear_ticks(double least, double most) {
  constexpr double kTicks = 5;
  if (least >= 0 && least < 0.5 * most) least = 0;
  if (most <= least) most = least + std::max(1.0, std::abs(least));
  const double power = std::pow(10.0, std::floor(std::log10((most - least) / kTicks)));
  const double rough = (most - least) / kTicks / power;  // from 1 to 10
  const double step = power * (rough <= 1 ? 1 : rough <= 2 ? 2 : rough <= 5 ? 5 : 10);
  const double first = std::floor(least / step);
  const double last = std::max(first + 1, std::ceil(most / step));
  std::vector<double> ticks;
  for (double number = first; number <= last; ++number) ticks.push_back(number * step);
  return ticks;
}

}  // namespace

std::vector<double> ticks_of(Scaling scaling, const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double low = values.empty() ? 1 : *least;
  const double high = values.empty() ? 10 : *most;
  switch (scaling) {
    case Scaling::decimal:
      return decimal_ticks(low, high);
    case Scaling::binary:
      return binary_ticks(low, high);
    default:
      return linear_ticks(low, high);
  }
}

namespace {

/// The widest tick text.
double width_of(const PlotAxis& axis, const std::vector<double>& ticks) {
  double width = 0;
  for (const double tick : ticks) width = std::max(width, roomy_width(axis.tick(tick)));
  return width;
}

bool power_of_ten(double value) {
  const double power = std::log10(value);
  return std::abs(power - std::round(power)) < 1e-9;
}

/// The ticks whose texts have room over `length`; a text is `size` long. First all; on a decimal
/// axis then powers of ten; then every second, every third, and so on.
std::vector<double> ticks_with_text(const PlotAxis& axis, std::vector<double> ticks, double size, double length) {
  const auto intervals = static_cast<double>(ticks.size() - 1);
  const double room = length / intervals;
  if (room >= size) return ticks;
  std::size_t first = 0;
  auto stride = static_cast<std::size_t>(std::ceil(size / room));
  if (axis.scaling == Scaling::decimal) {
    while (first + 1 < ticks.size() && !power_of_ten(ticks[first])) ++first;
    if (ticks.size() > first + 1 && !power_of_ten(ticks[first + 1])) stride = (stride + 2) / 3 * 3;
  }
  std::vector<double> kept;
  for (std::size_t i = first; i < ticks.size(); i += stride) kept.push_back(ticks[i]);
  return kept;
}

Box frame_box(double top, double ticks_width) {
  const double left = ticks_width + kGap;
  return {left, top + kLabelRoom, kFigureWidth - kMargin - left, kFrameHeight};
}

}  // namespace

std::string with_prefix(double value, const char* unit) {
  constexpr std::array kPrefixes = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int kNone = 4;
  constexpr int kMost = static_cast<int>(kPrefixes.size()) - 1 - kNone;
  const double size = std::abs(value) * (1 + 1e-9);  // a thousand that was rounded down counts as a thousand
  const int step = size > 0 ? std::clamp(static_cast<int>(std::floor(std::log10(size) / 3)), -kNone, kMost) : 0;
  const std::string text = fmt::format("{:.3g} {}{}", value / std::pow(1000.0, step),
                                       kPrefixes.at(static_cast<std::size_t>(step + kNone)), unit);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

Scale::Scale(Scaling scaling, double begin, double end, double first, double last)
    : logarithmic_(scaling != Scaling::linear), begin_(begin), end_(end), first_(first), last_(last) {}

double Scale::operator()(double value) const {
  const double share =
      logarithmic_ ? std::log(value / begin_) / std::log(end_ / begin_) : (value - begin_) / (end_ - begin_);
  return first_ + (last_ - first_) * share;
}

bool Scale::has_place(Scaling scaling, double value) {
  return std::isfinite(value) && (scaling == Scaling::linear || value > 0);
}

PlotFrame::PlotFrame(const PlotAxis& x, const PlotAxis& y, const std::vector<double>& xs, const std::vector<double>& ys,
                     double top)
    : x_axis_(x),
      y_axis_(y),
      x_ticks_(ticks_of(x.scaling, xs)),
      y_ticks_(ticks_of(y.scaling, ys)),
      top_(top),
      box_(frame_box(top, width_of(y, y_ticks_))),
      x_(x.scaling, x_ticks_.front(), x_ticks_.back(), box_.left, box_.right()),
      y_(y.scaling, y_ticks_.front(), y_ticks_.back(), box_.bottom(), box_.top) {}

double PlotFrame::bottom() const { return box_.bottom() + kGap + 2 * kLine; }

std::string PlotFrame::svg() const {
  const Paint grid = {.stroke = &kGrid};
  std::string text = svg_text({0, top_ + 0.9 * kRoomyLetters}, Anchor::start, y_axis_.label, kMuted);
  for (const double tick : x_ticks_) text += svg_line({x_(tick), box_.top}, {x_(tick), box_.bottom()}, grid);
  for (const double tick : y_ticks_) text += svg_line({box_.left, y_(tick)}, {box_.right(), y_(tick)}, grid);
  const double letters_wide = width_of(x_axis_, x_ticks_) + kGap;
  for (const double tick : ticks_with_text(x_axis_, x_ticks_, letters_wide, box_.width)) {
    const std::string label = x_axis_.tick(tick);
    // A text at the end of the axis must stay inside the figure.
    const double most = kFigureWidth - roomy_width(label) / 2;
    text += svg_text({std::min(x_(tick), most), box_.bottom() + kLine}, Anchor::middle, label, kMuted);
  }
  for (const double tick : ticks_with_text(y_axis_, y_ticks_, kLine, box_.height)) {
    text += svg_text({box_.left - kGap, y_(tick) + 0.35 * kLetters}, Anchor::end, y_axis_.tick(tick), kMuted);
  }
  text += svg_box(box_, {.stroke = &kMuted});
  return text +
         svg_text({box_.left + box_.width / 2, box_.bottom() + 2 * kLine}, Anchor::middle, x_axis_.label, kMuted);
}

std::string PlotFrame::inside(const std::string& elements) const {
  return fmt::format(
      "<svg x='{0:.2f}' y='{1:.2f}' width='{2:.2f}' height='{3:.2f}' "
      "viewBox='{0:.2f} {1:.2f} {2:.2f} {3:.2f}'>\n{4}</svg>\n",
      box_.left, box_.top, box_.width, box_.height, elements);
}

}  // namespace shardline::tools
