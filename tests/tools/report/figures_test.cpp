// Figures of pages: reads the positions of dots, bars and boxes from the SVG and compares them with the values.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/tools/report/svg_oracle.h"
#include "tools/report/bar_plot.h"
#include "tools/report/label_layout.h"
#include "tools/report/roofline_plot.h"
#include "tools/report/timeline_plot.h"
#include "tools/report/timetable_plot.h"

namespace shardline::tools {
namespace {

/// The ridge is at 10 FLOPs per byte, the ridge of the link at 10 kB.
roofline::Hardware hardware() {
  roofline::Hardware result;
  result.matmul = FlopsPerSecond(1e11);
  result.memory = BytesPerSecond(1e10);
  result.overhead = Seconds(1e-7);
  result.links["X"] = {.latency = Seconds(1e-6), .bandwidth = BytesPerSecond(1e10)};
  return result;
}

OperationRow computation(const std::string& name, double flops, double bytes, double predicted, double measured) {
  OperationRow row;
  row.name = name;
  row.short_name = name;
  row.flops = Flops(flops);
  row.bytes = Bytes(bytes);
  row.predicted = Seconds(predicted);
  row.measured = Seconds(measured);
  return row;
}

OperationRow collective(const std::string& name, int count, double wire, double predicted, double measured) {
  OperationRow row = computation(name, 0, 2 * wire, predicted, measured);
  row.wire_bytes = Bytes(wire);
  row.count = count;
  return row;
}

std::vector<OperationRow> numbered(std::vector<OperationRow> rows) {
  number_by_time(rows);
  return rows;
}

/// The filled circle of a dot, the last circle of its group.
SvgPoint dot(const std::string& svg, const std::string& name) {
  const std::size_t group = svg.find("<g class='dot' data-operation='" + name + "'>");
  EXPECT_NE(group, std::string::npos) << name;
  const std::string element = svg.substr(group, svg.find("</g>", group) - group);
  return points_of(element, "<circle ").back();
}

/// The corner of the `number`-th ceiling.
SvgPoint ridge(const std::string& svg, int number = 0) {
  std::size_t at = svg.find("<polyline points='");
  for (int i = 0; i < number; ++i) at = svg.find("<polyline points='", at + 1);
  const std::size_t corner = svg.find(' ', at + 18) + 1;
  char* end = nullptr;
  const double x = std::strtod(svg.c_str() + corner, &end);
  return {x, std::strtod(end + 1, nullptr)};
}

TEST(Roofline, ADotAtTheRidgeLiesOnTheCornerOfTheCeilings) {
  const auto rows = numbered({computation("ridge", 1e9, 1e8, 0.01, 0.01)});
  const std::string svg = roofline_svg(rows, hardware());
  EXPECT_NEAR(dot(svg, "ridge").x, ridge(svg).x, 0.011);
  EXPECT_NEAR(dot(svg, "ridge").y, ridge(svg).y, 0.011);
}

TEST(Roofline, DotsStandWhereTheTicksSay) {
  const auto rows = numbered({computation("a", 3e9, 1e8, 0.05, 0.06), computation("b", 2e7, 4e8, 0.01, 0.02)});
  const std::string svg = roofline_svg(rows, hardware());
  const SvgAxes axes = axes_of(svg, "0.1", "10", "1 G", "100 G");
  EXPECT_NEAR(axes.x_logarithmic(dot(svg, "a").x) / 30, 1, 0.005);
  EXPECT_NEAR(axes.y_logarithmic(dot(svg, "a").y) / 5e10, 1, 0.005);
  EXPECT_NEAR(axes.x_logarithmic(dot(svg, "b").x) / 0.05, 1, 0.005);
  EXPECT_NEAR(axes.y_logarithmic(dot(svg, "b").y) / 1e9, 1, 0.005);
  EXPECT_NEAR(axes.x_logarithmic(ridge(svg).x) / 10, 1, 0.005);
  EXPECT_NEAR(axes.y_logarithmic(ridge(svg).y) / 1e11, 1, 0.005);
  // The ring of "a" is at 60 GFLOP/s.
  const SvgPoint ring = points_of(svg.substr(svg.find("data-operation='a'")), "<circle ").front();
  EXPECT_NEAR(axes.y_logarithmic(ring.y) / 6e10, 1, 0.005);
}

TEST(Roofline, WhatMovesStandsByBytesOfACall) {
  const auto rows = numbered({collective("four calls", 4, 4e4, 4e-6, 4e-6), collective("slow", 2, 2e6, 2e-4, 4e-4),
                              computation("copy", 0, 1e6, 1e-4, 2e-4)});
  const std::string svg = moving_svg(rows, hardware());
  EXPECT_NEAR(dot(svg, "four calls").x, ridge(svg).x, 0.011);
  EXPECT_NEAR(dot(svg, "four calls").y, ridge(svg).y, 0.011);
  const SvgAxes axes = axes_of(svg, "1 kB", "1 MB", "1 GB/s", "10 GB/s");
  EXPECT_NEAR(axes.x_logarithmic(dot(svg, "slow").x) / 1e6, 1, 0.005);
  EXPECT_NEAR(axes.y_logarithmic(dot(svg, "slow").y) / 5e9, 1, 0.005);
  EXPECT_NEAR(axes.y_logarithmic(dot(svg, "copy").y) / 5e9, 1, 0.005);
  EXPECT_EQ(occurrences(svg, "class='dot'"), 3);
  EXPECT_EQ(occurrences(svg, ">X, messages: 10.0 GB/s, 1.00 us a step</text>"), 1);
  EXPECT_EQ(occurrences(svg, ">memory 10.0 GB/s, 100 ns a call</text>"), 1);
}

TEST(Roofline, EveryRowHasOnePlace) {
  auto rows = numbered({computation("product", 1e9, 1e8, 1, 1), computation("copy", 0, 1e8, 1, 1),
                        collective("gather", 1, 1e6, 1, 1), computation("nothing", 0, 0, 1, 1),
                        computation("no time", 1e6, 1e6, 1, 0)});
  rows[2].flops = Flops(1e6);  // a reduction adds
  EXPECT_EQ(place_of(rows[0]), DotPlace::compute);
  EXPECT_EQ(place_of(rows[1]), DotPlace::moving);
  EXPECT_EQ(place_of(rows[2]), DotPlace::moving);
  EXPECT_EQ(place_of(rows[3]), DotPlace::none);
  EXPECT_EQ(place_of(rows[4]), DotPlace::none);
  EXPECT_EQ(occurrences(roofline_svg(rows, hardware()), "class='dot'"), 1);
  EXPECT_EQ(occurrences(moving_svg(rows, hardware()), "class='dot'"), 2);
}

TEST(Roofline, PlansArePredictedOnly) {
  auto rows = numbered({computation("ridge", 1e9, 1e8, 0.01, 0)});
  rows[0].measured.reset();
  const std::string svg = roofline_svg(rows, hardware());
  EXPECT_NEAR(dot(svg, "ridge").y, ridge(svg).y, 0.011);
  EXPECT_EQ(occurrences(svg, "<circle "), 1);
  EXPECT_EQ(occurrences(svg, "measured"), 0);
}

TEST(Roofline, DotsTellEverything) {
  auto rows = numbered({collective("a <b> & 'c'", 2, 4e6, 1e-3, 2e-3)});
  const std::string svg = moving_svg(rows, hardware());
  EXPECT_EQ(occurrences(svg,
                        "<title>a &lt;b&gt; &amp; &apos;c&apos;, 2 calls: 0 FLOP, 8.00 MB, 4.00 MB on the wire, "
                        "measured 2.00 ms, predicted 1.00 ms, ratio 2.00</title>"),
            1);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(Roofline, NothingToShowIsAnEmptyPlot) {
  for (const std::string& svg : {roofline_svg({}, hardware()), moving_svg({}, hardware())}) {
    EXPECT_EQ(occurrences(svg, "class='dot'"), 0);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
  roofline::Hardware alone = hardware();
  alone.links.clear();
  EXPECT_EQ(moving_svg({}, alone).find("nan"), std::string::npos);
}

TEST(Roofline, NumbersGoByTime) {
  auto rows = numbered({computation("b", 1, 1, 9, 2), computation("c", 1, 1, 1, 1), computation("a", 1, 1, 1, 3)});
  EXPECT_EQ(rows[0].number, 2U);
  EXPECT_EQ(rows[1].number, 3U);
  EXPECT_EQ(rows[2].number, 1U);
  EXPECT_EQ(by_number(rows)[0].name, "a");
}

TEST(LabelLayout, TextsNeverMeet) {
  LabelLayout layout({0, 0, 400, 300});
  std::vector<Box> boxes;
  for (int i = 0; i < 40; ++i) {
    const Place point = {200.0 + i % 5, 150.0 + i % 7};
    const std::string text = std::to_string(i);
    const auto label = layout.place(point, text, 300);
    ASSERT_TRUE(label) << i;
    const double width = 11 * static_cast<double>(text.size());  // letters of height 18 at their largest width
    const double left = label->anchor == Anchor::start ? label->at.x
                        : label->anchor == Anchor::end ? label->at.x - width
                                                       : label->at.x - width / 2;
    const Box box = {left, label->at.y - 12, width, 16};
    for (const Box& other : boxes) EXPECT_FALSE(box.overlaps(other)) << i;
    EXPECT_GE(box.left, 0);
    EXPECT_LE(box.right(), 400);
    boxes.push_back(box);
  }
  EXPECT_FALSE(layout.place({200, 150}, "far too long to find any place in so narrow a frame", 300));
}

TEST(BarPlot, BarsAreAsLongAsTheirTimes) {
  const std::string svg = bars_svg({{"first", Seconds(2), Seconds(4), &kText}, {"second <", Seconds(1), {}, &kText}});
  const std::size_t groups = svg.find("<g class='bars'>");
  std::vector<double> widths;
  for (std::size_t at = svg.find("<rect ", groups); at != std::string::npos; at = svg.find("<rect ", at + 1)) {
    EXPECT_EQ(attribute(svg, at, "x"), 0);
    widths.push_back(attribute(svg, at, "width"));
  }
  ASSERT_EQ(widths.size(), 3U);
  EXPECT_NEAR(widths[0] / widths[1], 0.5, 1e-3);
  EXPECT_NEAR(widths[2] / widths[1], 0.25, 1e-3);
  EXPECT_EQ(occurrences(svg, ">4.00 s, ratio 2.00</text>"), 1);
  EXPECT_EQ(occurrences(svg, ">1.00 s</text>"), 1);
  EXPECT_EQ(occurrences(svg, ">second &lt;</text>"), 1);
  EXPECT_EQ(bars_svg({{"nothing", Seconds(0), Seconds(0), &kText}}).find("nan"), std::string::npos);
}

TEST(BarPlot, LongNamesAreCutBetweenLetters) {
  std::string name;
  for (int i = 0; i < 80; ++i) name += "é";
  const std::string svg = bars_svg({{name, Seconds(1), Seconds(1), &kText}});
  const std::size_t begin = svg.find(">é") + 1;
  const std::string shown = svg.substr(begin, svg.find('<', begin) - begin);
  EXPECT_EQ(shown.size() % 2, 1U);  // letters of two bytes, and an ellipsis of three
  EXPECT_EQ(shown.substr(shown.size() - 3), "…");
  EXPECT_LT(shown.size(), name.size());
}

TimelineSpan span(Doing doing, double begin, double end) { return {doing, Seconds(begin), Seconds(end), "span"}; }

TEST(TimelinePlot, BoxesStandWhereTheTicksSay) {
  TimelineFigure timeline;
  timeline.ranks = {
      {0, {span(Doing::product, 0, 0.1), span(Doing::collective, 0.1, 0.4)}},
      {1, {span(Doing::computation, 0.05, 0.2), span(Doing::early, 0.2, 0.3), span(Doing::collective, 0.3, 0.4)}}};
  const std::string svg = timeline_svg(timeline);
  EXPECT_EQ(occurrences(svg, "<g class='lane'>"), 4);
  EXPECT_EQ(occurrences(svg, ">rank 1</text>"), 1);
  const std::size_t lanes = svg.find("<g class='lane'>");
  std::vector<double> begins;
  std::vector<double> widths;
  for (std::size_t at = svg.find("<rect ", lanes); at != std::string::npos; at = svg.find("<rect ", at + 1)) {
    begins.push_back(attribute(svg, at, "x"));
    widths.push_back(attribute(svg, at, "width"));
  }
  ASSERT_EQ(begins.size(), 5U);
  const double unit = attribute(svg, svg.rfind("<text ", svg.find(">200 ms</text>")), "x") / 0.2;
  const std::vector<double> expected_begins = {0, 0.1, 0.05, 0.2, 0.3};
  const std::vector<double> expected_widths = {0.1, 0.3, 0.15, 0.1, 0.1};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(begins[i], unit * expected_begins[i], 0.02) << i;
    EXPECT_NEAR(widths[i], unit * expected_widths[i], 0.02) << i;
  }
}

TEST(TimelinePlot, ManySpansBecomeFewBoxesAndNoneIsLost) {
  constexpr int kSpans = 20000;
  TimelineFigure timeline;
  for (Index rank = 0; rank < 2; ++rank) {
    TimelineFigure::Rank told{rank, {}};
    for (int i = 0; i < kSpans; ++i) {
      const double begin = 1e-5 * i;
      told.spans.push_back(span(i % 3 == 0 ? Doing::product : Doing::computation, begin, begin + 8e-6));
    }
    told.spans.push_back(span(Doing::product, 1e-5 * kSpans, 2e-5 * kSpans));
    timeline.ranks.push_back(std::move(told));
  }
  const std::string svg = timeline_svg(timeline, 100);
  const std::string lanes = svg.substr(svg.find("<g class='lane'>"));
  EXPECT_LE(occurrences(lanes, "<rect "), 100);
  EXPECT_GE(occurrences(lanes, "<rect "), 30);
  Index told = occurrences(lanes, "<title>span: ");
  for (std::size_t at = lanes.find(" operations, mostly "); at != std::string::npos;
       at = lanes.find(" operations, mostly ", at + 1)) {
    told += std::atoi(lanes.c_str() + lanes.rfind('>', at) + 1);
  }
  EXPECT_EQ(told, 2 * (kSpans + 1));
}

TEST(TimelinePlot, NothingAndNoTimeAreDrawnToo) {
  TimelineFigure timeline;
  EXPECT_EQ(timeline_svg(timeline).find("nan"), std::string::npos);
  timeline.ranks = {{0, {span(Doing::product, 0, 0), span(Doing::product, 0, 0)}}};
  EXPECT_EQ(timeline_svg(timeline, 1).find("nan"), std::string::npos);
}

/// Two stages of one micro-batch: each task once measured and once predicted.
TEST(TimetablePlot, TasksStandWhereTheTicksSay) {
  const auto box = [](char kind, double begin, double end) {
    return TimetableBox{kind, "0", std::string(1, kind) + "0", Seconds(begin), Seconds(end)};
  };
  const std::vector<StageRows> stages = {
      {{box('F', 0, 0.1), box('B', 0.3, 0.5)}, {box('F', 0, 0.15), box('B', 0.25, 0.4)}},
      {{box('F', 0.1, 0.2), box('B', 0.2, 0.3)}, {box('F', 0.15, 0.2), box('B', 0.2, 0.25)}}};
  const std::string svg = timetable_svg(stages);
  EXPECT_EQ(occurrences(svg, ">stage 1: measured"), 1);
  EXPECT_EQ(occurrences(svg, "F: forward"), 1);
  EXPECT_EQ(occurrences(svg, "gradients"), 0) << "a kind that no stage has";
  EXPECT_EQ(occurrences(svg, "<title>B0: 200 ms from 300 ms on</title>"), 1);
  EXPECT_EQ(occurrences(svg, ">0</text>"), 8) << "a number in each task";
  const double unit = attribute(svg, svg.rfind("<text ", svg.find(">200 ms</text>")), "x") / 0.2;
  const std::vector<double> begins = {0, 0.3, 0, 0.25, 0.1, 0.2, 0.15, 0.2};
  const std::vector<double> widths = {0.1, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05};
  std::size_t at = svg.find("<g class='lane'>");
  std::vector<double> tops;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    at = svg.find("<rect ", at + 1);
    ASSERT_NE(at, std::string::npos);
    EXPECT_NEAR(attribute(svg, at, "x"), unit * begins[i], 0.02) << i;
    EXPECT_NEAR(attribute(svg, at, "width"), unit * widths[i], 0.02) << i;
    tops.push_back(attribute(svg, at, "y"));
  }
  EXPECT_EQ(tops[0], tops[1]);
  EXPECT_LT(tops[1], tops[2]) << "the prediction is below";
  EXPECT_LT(tops[3], tops[4]) << "the next stage is below";
  EXPECT_EQ(svg.find("<rect ", at + 1), std::string::npos);
}

}  // namespace
}  // namespace shardline::tools
