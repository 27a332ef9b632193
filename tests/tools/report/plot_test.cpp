// Plots of curves: the drawn parts, and their positions relative to the ticks.

#include "tools/report/plot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tools/report/svg_oracle.h"

namespace shardline::tools {
namespace {

std::string number(double value) { return fmt::format("{:g}", value); }

Plot two_curves() {
  Plot plot;
  plot.title = "a <title> & more";
  plot.x = {"size", Scaling::binary, number};
  plot.y = {"rate", Scaling::decimal, number};
  plot.curves = {{"first", {{1, 10}, {4, 100}, {0, 5}}, 0, 0}, {"second \"b\"", {{1, 20}, {2, 0}, {4, 50}}, 1, 1}};
  plot.guides = {{"guide", {1, 10}, {4, 1000}}};
  return plot;
}

TEST(Plot, DrawsCurvesGuidesTicksAndLegend) {
  const std::string svg = to_svg(two_curves());
  EXPECT_EQ(svg.substr(0, 40), "<svg xmlns='http://www.w3.org/2000/svg' ");
  EXPECT_EQ(occurrences(svg, "<polyline "), 2);
  EXPECT_EQ(occurrences(svg, "<circle "), 2 + 1);  // points, legend
  EXPECT_EQ(occurrences(svg, "stroke-dasharray"), 2);
  for (const char* text : {">1<", ">2<", ">4<", ">10<", ">20<", ">50<", ">100<", ">200<", ">size<", ">rate<", ">first<",
                           ">guide<", ">second &quot;b&quot;<", ">a &lt;title&gt; &amp; more<"}) {
    EXPECT_EQ(occurrences(svg, text), 1) << text;
  }
  EXPECT_EQ(occurrences(svg, "<title>first: 4, 100</title>"), 1);
}

TEST(Plot, PointsStandWhereTheTicksSay) {
  const std::string svg = to_svg(two_curves());
  const SvgAxes axes = axes_of(svg, "1", "4", "10", "100");
  const std::vector<SvgPoint> points = points_of(svg, "<circle ");
  ASSERT_EQ(points.size(), 3U);
  EXPECT_NEAR(axes.x_logarithmic(points[0].x), 1, 0.001);
  EXPECT_NEAR(axes.y_logarithmic(points[0].y), 10, 0.05);
  EXPECT_NEAR(axes.x_logarithmic(points[1].x), 4, 0.001);
  EXPECT_NEAR(axes.y_logarithmic(points[1].y), 100, 0.5);
}

TEST(Plot, LinearAxesStartFromZero) {
  Plot plot;
  plot.x = {"step", Scaling::linear, number};
  plot.y = {"loss", Scaling::linear, number};
  plot.curves = {{"loss", {{0, 6}, {37, 2.5}, {400, 1.25}}, 0, 0}};
  const std::string svg = to_svg(plot);
  const SvgAxes axes = axes_of(svg, "0", "200", "0", "6");
  const std::vector<SvgPoint> points = points_of(svg, "<circle ");
  ASSERT_EQ(points.size(), 3U + 1U);
  EXPECT_NEAR(axes.x_linear(points[1].x), 37, 0.01);
  EXPECT_NEAR(axes.y_linear(points[1].y), 2.5, 0.001);
  // Values with little variation would be a flat line.
  plot.curves = {{"loss", {{1, 1.95}, {2, 2.05}}, 0, 0}};
  EXPECT_EQ(occurrences(to_svg(plot), ">0<"), 0);
  EXPECT_EQ(occurrences(to_svg(plot), ">1.94<"), 1);
}

TEST(Plot, ManyPointsHaveNoMarkers) {
  Plot plot;
  plot.x = {"step", Scaling::linear, number};
  plot.y = {"loss", Scaling::linear, number};
  plot.curves = {{"loss", {}, 0, 0}};
  for (int i = 0; i < 500; ++i) plot.curves[0].points.emplace_back(i, i);
  EXPECT_EQ(occurrences(to_svg(plot), "<circle "), 1);  // legend
}

TEST(Plot, AnyValuesAreDrawn) {
  Plot plot;
  for (const Scaling scaling : {Scaling::binary, Scaling::decimal, Scaling::linear}) {
    plot.x = {"size", scaling, number};
    plot.y = {"rate", scaling == Scaling::binary ? Scaling::decimal : scaling, number};
    for (const std::vector<PlotPoint>& points :
         {std::vector<PlotPoint>{}, {{1024, 1e9}}, {{1000, 3e9}}, {{1, 1e3}, {1e12, 1e13}}, {{5, INFINITY}, {3, 4}}}) {
      plot.curves = {{"curve", points, 9, 9}};
      const std::string svg = to_svg(plot);
      EXPECT_EQ(svg.find("nan"), std::string::npos);
      EXPECT_EQ(svg.find("inf"), std::string::npos);
      EXPECT_EQ(svg.find("='-"), std::string::npos) << svg;
    }
  }
}

}  // namespace
}  // namespace shardline::tools
