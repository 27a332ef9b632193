#include "tools/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardline::tools {
namespace {

constexpr std::array kCategories = {Ink{"c0", "#0072b2", "#56b4e9"}, Ink{"c1", "#d55e00", "#f0883e"},
                                    Ink{"c2", "#009e73", "#2fc79b"}, Ink{"c3", "#c2619b", "#e39ac4"},
                                    Ink{"c4", "#d18f00", "#f2c14e"}, Ink{"c5", "#4d5ebf", "#9aa7f7"},
                                    Ink{"c6", "#5b6570", "#9ca6b3"}};

/// The number of UTF-8 letters: all bytes except continuation bytes.
std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

const Ink& category_ink(std::size_t number) { return kCategories.at(number % kCategories.size()); }

std::vector<Ink> inks() {
  std::vector<Ink> all = {kPaper, kText, kMuted, kGrid};
  all.insert(all.end(), kCategories.begin(), kCategories.end());
  return all;
}

std::string attributes(const Paint& paint) {
  std::string classes;
  std::string text;
  if (paint.fill != nullptr) {
    classes += fmt::format(" f-{}", paint.fill->name);
    text += fmt::format(" fill='{}'", paint.fill->light);
  } else {
    text += " fill='none'";
  }
  if (paint.stroke != nullptr) {
    classes += fmt::format(" s-{}", paint.stroke->name);
    text += fmt::format(" stroke='{}' stroke-width='{:g}'", paint.stroke->light, paint.width);
  }
  if (!classes.empty()) text += fmt::format(" class='{}'", classes.substr(1));
  return *paint.as == '\0' ? text.substr(1) : text.substr(1) + " " + paint.as;
}

double roomy_width(const std::string& text) {
  constexpr double kLetterWidth = 0.64;  // share of the height: digits and capitals of common fonts
  return kLetterWidth * kRoomyLetters * static_cast<double>(letters(text));
}

std::string svg_text(Place at, Anchor anchor, const std::string& text, const Ink& ink) {
  constexpr std::array kAnchors = {"start", "middle", "end"};
  return fmt::format("<text x='{:.2f}' y='{:.2f}' text-anchor='{}' {}>{}</text>\n", at.x, at.y,
                     kAnchors.at(static_cast<std::size_t>(anchor)), attributes({.fill = &ink}), xml_text(text));
}

std::string svg_line(Place from, Place to, const Paint& paint) {
  return fmt::format("<line x1='{:.2f}' y1='{:.2f}' x2='{:.2f}' y2='{:.2f}' {}/>\n", from.x, from.y, to.x, to.y,
                     attributes(paint));
}

std::string svg_box(const Box& box, const Paint& paint, const std::string& title) {
  const std::string element = fmt::format("<rect x='{:.2f}' y='{:.2f}' width='{:.2f}' height='{:.2f}' {}", box.left,
                                          box.top, box.width, box.height, attributes(paint));
  return title.empty() ? element + "/>\n" : fmt::format("{}><title>{}</title></rect>\n", element, xml_text(title));
}

std::string svg_figure(double height, const std::string& description, const std::string& elements) {
  return fmt::format(
             "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 {0:.0f} {1:.0f}' "
             "role='img' aria-label='{2}' font-family='system-ui, Helvetica, Arial, sans-serif' font-size='{3:.0f}'>\n",
             kFigureWidth, height, xml_text(description), kLetters) +
         svg_box({0, 0, kFigureWidth, height}, {.fill = &kPaper}) + elements + "</svg>\n";
}

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
