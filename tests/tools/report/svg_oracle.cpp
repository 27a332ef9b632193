#include "tests/tools/report/svg_oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace shardline::tools {
namespace {

/// "2.5 kB" and "2.5 k" are 2500.
double number_of(const std::string& text) {
  const std::map<char, double> prefixes = {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'k', 1e3},
                                           {'M', 1e6},  {'G', 1e9},  {'T', 1e12}};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end == ' ') ++end;
  const auto prefix = prefixes.find(*end);
  return prefix == prefixes.end() ? value : value * prefix->second;
}

/// The begin of the element of a tick text.
std::size_t tick_at(const std::string& svg, const std::string& anchor, const std::string& text) {
  for (std::size_t at = svg.find("<text "); at != std::string::npos; at = svg.find("<text ", at + 1)) {
    const std::string element = svg.substr(at, svg.find('\n', at) - at);
    if (element.find("text-anchor='" + anchor + "'") != std::string::npos &&
        element.find(">" + text + "<") != std::string::npos) {
      return at;
    }
  }
  ADD_FAILURE() << "no tick " << text;
  return 0;
}

/// The y of a text is that of its baseline. Its distance below the tick is the same for all ticks, so it
/// cancels, except for this.
constexpr double kBaseline = 0.35 * 13;

double between(double at, const double (&places)[2], double first, double second) {
  return first + (second - first) * (at - places[0]) / (places[1] - places[0]);
}

}  // namespace

Index occurrences(const std::string& text, const std::string& what) {
  Index count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

double attribute(const std::string& svg, std::size_t at, const std::string& name) {
  const std::string element = svg.substr(at, svg.find('>', at) - at);
  const std::size_t found = element.find(" " + name + "='");
  EXPECT_NE(found, std::string::npos) << name << " of " << element;
  return found == std::string::npos ? 0 : std::strtod(element.c_str() + found + name.size() + 3, nullptr);
}

std::vector<SvgPoint> points_of(const std::string& svg, const std::string& element) {
  const bool circle = element.rfind("<circle", 0) == 0;
  std::vector<SvgPoint> points;
  for (std::size_t at = svg.find(element); at != std::string::npos; at = svg.find(element, at + 1)) {
    points.push_back({attribute(svg, at, circle ? "cx" : "x"), attribute(svg, at, circle ? "cy" : "y")});
  }
  return points;
}

SvgAxes axes_of(const std::string& svg, const std::string& x0, const std::string& x1, const std::string& y0,
                const std::string& y1) {
  SvgAxes axes;
  const std::string xs[] = {x0, x1};
  const std::string ys[] = {y0, y1};
  for (int i = 0; i < 2; ++i) {
    axes.x_tick[i] = number_of(xs[i]);
    axes.x_at[i] = attribute(svg, tick_at(svg, "middle", xs[i]), "x");
    axes.y_tick[i] = number_of(ys[i]);
    axes.y_at[i] = attribute(svg, tick_at(svg, "end", ys[i]), "y") - kBaseline;
  }
  return axes;
}

double SvgAxes::x_linear(double x) const { return between(x, x_at, x_tick[0], x_tick[1]); }
double SvgAxes::y_linear(double y) const { return between(y, y_at, y_tick[0], y_tick[1]); }
double SvgAxes::x_logarithmic(double x) const {
  return std::exp(between(x, x_at, std::log(x_tick[0]), std::log(x_tick[1])));
}
double SvgAxes::y_logarithmic(double y) const {
  return std::exp(between(y, y_at, std::log(y_tick[0]), std::log(y_tick[1])));
}

}  // namespace shardline::tools
