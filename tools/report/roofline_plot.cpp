#include "tools/report/roofline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "tools/report/label_layout.h"
#include "tools/report/plot_frame.h"

namespace shardline::tools {
namespace {

constexpr std::size_t kNamed = 5;  ///< dots with names, if there is room
constexpr double kRadius = 5;
constexpr std::size_t kFirstRoofInk = 3;  ///< after the inks of the dots
constexpr double kKeyLine = 1.4 * kRoomyLetters;

/// A ceiling: the smaller of slope times x and `flat`.
struct Roof {
  std::string name;
  double slope = 0;
  double flat = 0;
  bool solid = true;
  const Ink* ink = &kText;

  double ridge() const { return flat / slope; }
};

/// A row in the coordinates of a plot.
struct Dot {
  const OperationRow* row = nullptr;
  double x = 0;
  double y = 0;
  double predicted = 0;  ///< predicted y; 0: none
};

std::string flops_tick(double value) { return with_prefix(value, ""); }
std::string intensity_tick(double value) { return fmt::format("{:g}", value); }
std::string byte_tick(double value) { return with_prefix(value, "B"); }
std::string bandwidth_tick(double value) { return with_prefix(value, "B/s"); }

double best(const roofline::Curve& curve) {
  double most = 0;
  for (const auto& point : curve.points()) most = std::max(most, point.rate);
  return most;
}

/// Draws a roofline plot, element by element.
class RooflineDrawing {
 public:
  RooflineDrawing(const PlotAxis& x, const PlotAxis& y, std::vector<Roof> roofs, std::vector<Dot> dots)
      : roofs_(std::move(roofs)), dots_(std::move(dots)), frame_(frame_of(x, y)), layout_(frame_.box()) {}

  std::string svg(const std::string& description) {
    for (const Roof& roof : roofs_) avoid(roof);
    for (const Dot& dot : dots_) avoid(dot);
    std::string lines;
    for (const Roof& roof : roofs_) lines += line_of(roof);
    std::string elements = frame_.svg() + frame_.inside(lines);
    // The slowest operations get their label places first. Their dots are drawn last, over the
    // others.
    std::string labels;
    for (std::size_t i = 0; i < dots_.size(); ++i) labels += label_of(dots_[i], i < kNamed);
    std::string dots;
    for (std::size_t i = dots_.size(); i > 0; --i) dots += dot_of(dots_[i - 1]);
    double bottom = frame_.bottom();
    elements += dots + labels + legend(bottom);
    return svg_figure(bottom, description, elements);
  }

 private:
  PlotFrame frame_of(const PlotAxis& x, const PlotAxis& y) const {
    constexpr double kRoom = 1.2;  // no dot lies on the frame
    std::vector<double> xs;
    std::vector<double> ys;
    for (const Roof& roof : roofs_) {  // enough of the slope to see it
      xs.insert(xs.end(), {roof.ridge() / 10, roof.ridge()});
      ys.insert(ys.end(), {roof.flat / 50, roof.flat});
    }
    for (const Dot& dot : dots_) {
      xs.push_back(dot.x / kRoom);
      xs.push_back(dot.x * kRoom);
      ys.push_back(dot.y);
      if (dot.predicted > 0) ys.push_back(dot.predicted);
    }
    return {x, y, xs, ys, 0};
  }

  /// The corners of a roof: far left, the ridge, far right.
  static std::array<std::pair<double, double>, 3> corners(const Roof& roof) {
    constexpr double kFar = 1e12;
    return {{{roof.ridge() / kFar, roof.flat / kFar}, {roof.ridge(), roof.flat}, {roof.ridge() * kFar, roof.flat}}};
  }
  static Paint paint_of(const Roof& roof) {
    return {.stroke = roof.ink, .width = roof.solid ? 2.0 : 1.2, .as = roof.solid ? "" : "stroke-dasharray='5 4'"};
  }

  std::string line_of(const Roof& roof) const {
    std::string points;
    for (const auto& [x, y] : corners(roof)) {
      points += fmt::format(" {:.2f},{:.2f}", frame_.at(x, y).x, frame_.at(x, y).y);
    }
    return fmt::format("<polyline points='{}' {}><title>{}</title></polyline>\n", points.substr(1),
                       attributes(paint_of(roof)), xml_text(roof.name));
  }

  void avoid(const Roof& roof) {
    const auto points = corners(roof);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      layout_.occupy(frame_.at(points[i].first, points[i].second), frame_.at(points[i + 1].first, points[i + 1].second),
                     2);
    }
  }

  void avoid(const Dot& dot) {
    const Place at = frame_.at(dot.x, dot.y);
    layout_.occupy(at, at, kRadius + 1);
    if (dot.predicted > 0) layout_.occupy(frame_.at(dot.x, dot.predicted), at, 2);
  }

  std::string dot_of(const Dot& dot) const {
    const Place at = frame_.at(dot.x, dot.y);
    const Ink& ink = ink_of(*dot.row);
    std::string text = fmt::format("<g class='dot' data-operation='{}'>\n", xml_text(dot.row->name));
    if (dot.predicted > 0) {
      const Place predicted = frame_.at(dot.x, dot.predicted);
      text += svg_line(at, predicted, {.stroke = &ink, .width = 1.5});
      text += fmt::format("<circle cx='{:.2f}' cy='{:.2f}' r='{}' {}/>\n", predicted.x, predicted.y, kRadius - 1.5,
                          attributes({.fill = &kPaper, .stroke = &ink, .width = 1.5}));
    }
    return text + fmt::format("<circle cx='{:.2f}' cy='{:.2f}' r='{}' {}><title>{}</title></circle>\n</g>\n", at.x,
                              at.y, kRadius, attributes({.fill = &ink, .stroke = &kPaper}),
                              xml_text(description(*dot.row)));
  }

  std::string label_of(const Dot& dot, bool named) {
    const Place at = frame_.at(dot.x, dot.y);
    std::optional<LabelLayout::Label> label;
    std::string text = fmt::format("{} {}", dot.row->number, dot.row->short_name);
    constexpr double kNameReach = 90;
    constexpr double kNumberReach = 150;
    if (named) label = layout_.place(at, text, kNameReach);
    if (!label) {
      text = std::to_string(dot.row->number);
      label = layout_.place(at, text, kNumberReach);
    }
    if (!label) return "";
    const std::string line =
        label->apart ? svg_line(at, label->begin, {.stroke = &kMuted, .width = 0.7}) : std::string();
    return line + svg_text(label->at, label->anchor, text);
  }

  std::string legend(double& bottom) const {
    std::string text;
    for (const Roof& roof : roofs_) {
      const double y = bottom + 0.6 * kKeyLine;
      text += svg_line({0, y}, {28, y}, paint_of(roof)) + svg_text({36, y + 0.35 * kLetters}, Anchor::start, roof.name);
      bottom += kKeyLine;
    }
    bottom += 0.3 * kKeyLine;
    return text;
  }

  std::vector<Roof> roofs_;
  std::vector<Dot> dots_;
  PlotFrame frame_;
  LabelLayout layout_;
};

/// The dots of the rows with `place`, slowest first. y is `quantity` over time.
std::vector<Dot> dots_of(const std::vector<OperationRow>& rows, DotPlace place,
                         const std::function<double(const OperationRow&)>& x,
                         const std::function<double(const OperationRow&)>& quantity) {
  std::vector<Dot> dots;
  for (const OperationRow& row : rows) {
    if (place_of(row) != place) continue;
    const bool both = row.measured && row.predicted.value > 0;
    dots.push_back({&row, x(row), quantity(row) / row.time().value, both ? quantity(row) / row.predicted.value : 0});
  }
  std::sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.row->number < b.row->number; });
  return dots;
}

Bytes moved(const OperationRow& row) { return row.communicates() ? row.wire_bytes : row.bytes; }

/// The roofs of an axis's link: its messages and, if ranks share memory, reads from each other.
std::vector<Roof> roofs_of(const Axis& axis, const roofline::Link& link, const Ink& ink) {
  std::vector<Roof> roofs;
  const auto add = [&](const std::string& how, Seconds latency, BytesPerSecond bandwidth, bool solid) {
    if (latency.value <= 0 || bandwidth.value <= 0) return;
    roofs.push_back({fmt::format("{}, {}: {}, {} a step", axis, how, to_string(bandwidth), to_string(latency)),
                     1 / latency.value, bandwidth.value, solid, &ink});
  };
  if (link.shared) {
    const BytesPerSecond most(std::max(best(link.shared->copy), best(link.shared->copy_again)));
    add("shared memory", link.shared->latency, most, true);
  }
  add("messages", link.latency, link.all_ways(), !link.shared);
  return roofs;
}

}  // namespace

DotPlace place_of(const OperationRow& row) {
  if (row.time().value <= 0 || moved(row).value <= 0 || row.count <= 0) return DotPlace::none;
  return row.communicates() || row.flops.value <= 0 ? DotPlace::moving : DotPlace::compute;
}

std::string roofline_svg(const std::vector<OperationRow>& rows, const roofline::Hardware& hardware) {
  std::vector<Roof> roofs = {
      {fmt::format("products {}, memory {}", to_string(hardware.matmul), to_string(hardware.memory)),
       hardware.memory.value, hardware.matmul.value, true}};
  if (const double caches = best(hardware.caches); caches > hardware.memory.value) {
    roofs.push_back(
        {fmt::format("caches {}", to_string(BytesPerSecond(caches))), caches, hardware.matmul.value, false});
  }
  const std::vector<Dot> dots = dots_of(
      rows, DotPlace::compute, [](const OperationRow& row) { return row.flops.value / row.bytes.value; },
      [](const OperationRow& row) { return row.flops.value; });
  return RooflineDrawing({"FLOPs per byte", Scaling::decimal, intensity_tick}, {"FLOP/s", Scaling::decimal, flops_tick},
                         roofs, dots)
      .svg("Roofline of computation: FLOP/s against FLOPs per byte, a dot for each operation");
}

std::string moving_svg(const std::vector<OperationRow>& rows, const roofline::Hardware& hardware) {
  const std::vector<Dot> dots = dots_of(
      rows, DotPlace::moving, [](const OperationRow& row) { return moved(row).value / row.count; },
      [](const OperationRow& row) { return moved(row).value; });
  std::vector<Roof> roofs;
  std::size_t color = kFirstRoofInk;
  for (const auto& [axis, link] : hardware.links) {
    for (const Roof& roof : roofs_of(axis, link, category_ink(color))) roofs.push_back(roof);
    ++color;
  }
  const bool local = std::any_of(dots.begin(), dots.end(), [](const Dot& dot) { return !dot.row->communicates(); });
  if (local && hardware.overhead.value > 0) {
    roofs.push_back({fmt::format("memory {}, {} a call", to_string(hardware.memory), to_string(hardware.overhead)),
                     1 / hardware.overhead.value, hardware.memory.value, true});
  }
  return RooflineDrawing({"bytes of a call", Scaling::decimal, byte_tick},
                         {"bytes per second", Scaling::decimal, bandwidth_tick}, roofs, dots)
      .svg("Roofline of what moves: bytes per second against bytes of a call, a dot for each operation");
}

}  // namespace shardline::tools
