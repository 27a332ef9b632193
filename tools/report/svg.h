#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardline::tools {

/// A colour of figures and pages, in light and in dark surroundings. A figure names inks by classes and has the light
/// colours as attributes, which the style of a page overrides; so one SVG text is a light file by itself and takes the
/// colours of the page that it stands in.
struct Ink {
  const char* name;
  const char* light;
  const char* dark;
};

inline constexpr Ink kPaper = {"paper", "#ffffff", "#14171c"};
inline constexpr Ink kText = {"text", "#1c2128", "#e4e7eb"};
inline constexpr Ink kMuted = {"muted", "#5b6570", "#9ca6b3"};
inline constexpr Ink kGrid = {"grid", "#e1e5ea", "#2c323a"};

/// The ink of curve, bar or category `number`; they repeat. The first six are told apart by colour-blind readers too
/// (Okabe and Ito, light yellow left out).
const Ink& category_ink(std::size_t number);
/// All of them.
std::vector<Ink> inks();

/// How an SVG element is painted; what is null is left out.
struct Paint {
  const Ink* fill = nullptr;
  const Ink* stroke = nullptr;
  double width = 1;     ///< of the stroke
  const char* as = "";  ///< more attributes: "stroke-dasharray='3 3'"
};
/// The attributes of `paint`, with "fill='none'" where there is only a stroke.
std::string attributes(const Paint& paint);

/// Coordinates of a figure: user units, y downwards.
struct Place {
  double x = 0;
  double y = 0;
};
struct Box {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
  bool overlaps(const Box& other) const {
    return left < other.right() && other.left < right() && top < other.bottom() && other.top < bottom();
  }
};

/// Every figure is so wide, in user units.
inline constexpr double kFigureWidth = 560;
/// Letters are drawn at kLetters user units. Pages enlarge them on narrow screens, up to kRoomyLetters, for which every
/// figure leaves room.
inline constexpr double kLetters = 13;
inline constexpr double kRoomyLetters = 18;

/// How wide `text` is at most when its letters are enlarged.
double roomy_width(const std::string& text);

/// Where a text stands beside its place.
enum class Anchor : unsigned char { start, middle, end };

/// Elements, a line each. `title` is what is shown where a reader points at it; empty for none.
std::string svg_text(Place at, Anchor anchor, const std::string& text, const Ink& ink = kText);
std::string svg_line(Place from, Place to, const Paint& paint);
std::string svg_box(const Box& box, const Paint& paint, const std::string& title = "");

/// A figure kFigureWidth wide around its `elements`: a file of its own, or a part of a page. `description` is for those
/// who cannot see it.
std::string svg_figure(double height, const std::string& description, const std::string& elements);

/// `text` as XML shows it: &, <, > and quotes by their names, control characters by a blank.
std::string xml_text(const std::string& text);

}  // namespace shardline::tools
