#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardline::tools {

/// A colour of figures and pages, for light and dark pages. A figure has inks as classes and the
/// light colours as attributes. The style of a page overrides the attributes. So one SVG text is a
/// light file alone, and takes the colours of a page inside one.
struct Ink {
  const char* name;
  const char* light;
  const char* dark;
};

inline constexpr Ink kPaper = {"paper", "#ffffff", "#14171c"};
inline constexpr Ink kText = {"text", "#1c2128", "#e4e7eb"};
inline constexpr Ink kMuted = {"muted", "#5b6570", "#9ca6b3"};
inline constexpr Ink kGrid = {"grid", "#e1e5ea", "#2c323a"};

/// The ink of curve, bar or category `number`; inks repeat. Colour-blind readers can also tell the
/// first six apart (Okabe and Ito, without light yellow).
const Ink& category_ink(std::size_t number);
/// All of them.
std::vector<Ink> inks();

/// How an SVG element is painted. Null parts are left out.
struct Paint {
  const Ink* fill = nullptr;
  const Ink* stroke = nullptr;
  double width = 1;     ///< of the stroke
  const char* as = "";  ///< further attributes: "stroke-dasharray='3 3'"
};
/// The attributes of `paint`; "fill='none'" if there is only a stroke.
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

/// The width of every figure, in user units.
inline constexpr double kFigureWidth = 560;
/// Letters are kLetters user units high. Pages enlarge them on narrow screens up to kRoomyLetters;
/// every figure leaves room for that.
inline constexpr double kLetters = 13;
inline constexpr double kRoomyLetters = 18;

/// The largest width of `text`, with enlarged letters.
double roomy_width(const std::string& text);

/// Where a text lies beside its place.
enum class Anchor : unsigned char { start, middle, end };

/// Elements, one line each. `title` is the tooltip; empty for none.
std::string svg_text(Place at, Anchor anchor, const std::string& text, const Ink& ink = kText);
std::string svg_line(Place from, Place to, const Paint& paint);
std::string svg_box(const Box& box, const Paint& paint, const std::string& title = "");

/// A figure of width kFigureWidth around its `elements`: a file, or a part of a page. `description`
/// is for readers who cannot see it.
std::string svg_figure(double height, const std::string& description, const std::string& elements);

/// `text` as XML: &, <, > and quotes as entities, control characters as blanks.
std::string xml_text(const std::string& text);

}  // namespace shardline::tools
