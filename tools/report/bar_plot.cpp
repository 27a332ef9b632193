#include "tools/report/bar_plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/report/operation_row.h"

namespace shardline::tools {
namespace {

constexpr double kBarLine = 1.35 * kRoomyLetters;
constexpr double kBar = 9;
constexpr double kBarGap = 12;  ///< between the bars of two names
constexpr double kBarLegendLine = 1.6 * kRoomyLetters;

constexpr Paint kOfPrediction = {.fill = &kMuted, .as = "fill-opacity='0.55'"};

/// `text`, or its begin if it is too wide.
std::string cut(const std::string& text, double width) {
  if (roomy_width(text) <= width) return text;
  std::string beginning = text;
  while (!beginning.empty() && roomy_width(beginning + "…") > width) {
    while ((static_cast<unsigned char>(beginning.back()) & 0xc0) == 0x80) beginning.pop_back();  // the rest of a letter
    beginning.pop_back();
  }
  return beginning + "…";
}

/// "25.8 s, ratio 0.91"
std::string value_text(const Bars& bars) {
  if (!bars.measured) return to_string(bars.predicted);
  if (bars.predicted.value <= 0) return to_string(*bars.measured);
  return fmt::format("{}, ratio {:.2f}", to_string(*bars.measured), *bars.measured / bars.predicted);
}

std::string legend(bool measured) {
  const double y = 0.5 * kBarLegendLine;
  const auto name = [&](double x, const std::string& text) {
    return svg_text({x, y + 0.35 * kLetters}, Anchor::start, text, kMuted);
  };
  std::string text = svg_box({0, y - kBar / 2, 24, kBar}, kOfPrediction) + name(32, "predicted");
  if (!measured) return text;
  constexpr double kSecond = 170;
  for (const std::size_t color : {0, 1, 2}) {
    const double x = kSecond + 8 * static_cast<double>(color);
    text += svg_box({x, y - kBar / 2, 8, kBar}, {.fill = &category_ink(color)});
  }
  return text + name(kSecond + 32, "measured");
}

}  // namespace

std::string bars_svg(const std::vector<Bars>& bars) {
  double most = 0;
  bool measured = false;
  for (const Bars& each : bars) {
    most = std::max({most, each.predicted.value, each.measured.value_or(Seconds()).value});
    measured = measured || each.measured;
  }
  const double unit = most > 0 ? kFigureWidth / most : 0;
  std::string elements = legend(measured);
  double y = kBarLegendLine;
  for (const Bars& each : bars) {
    const std::string title = fmt::format("{}: {}", each.name, times_text(each.predicted, each.measured));
    const std::string value = value_text(each);
    const double baseline = y + 0.8 * kRoomyLetters;
    elements += "<g class='bars'>\n";
    elements += svg_text({0, baseline}, Anchor::start, cut(each.name, kFigureWidth - roomy_width(value) - kBarGap));
    elements += svg_text({kFigureWidth, baseline}, Anchor::end, value, kMuted);
    y += kBarLine;
    elements += svg_box({0, y, unit * each.predicted.value, kBar}, kOfPrediction, title);
    y += kBar + 2;
    if (each.measured) {
      elements += svg_box({0, y, unit * each.measured->value, kBar}, {.fill = each.ink}, title);
      y += kBar;
    }
    elements += "</g>\n";
    y += kBarGap;
  }
  return svg_figure(y, "Bars: predicted times beside measured ones", elements);
}

}  // namespace shardline::tools
