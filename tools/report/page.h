#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shardline::tools {

/// The parts of a section of a page. All text is plain and shown as it is, except the markup of
/// figures.
struct Paragraph {
  std::string text;
};
/// Lines in a monospace font. If folded, a reader sees `summary` and can open them; else `summary`
/// is not shown.
struct Preformatted {
  std::string text;
  bool folded = false;
  std::string summary = {};
};
/// `svg` comes from svg_figure().
struct Figure {
  std::string svg;
  std::string caption;
  std::vector<std::pair<std::size_t, std::string>> key = {};  ///< numbers in the figure with their meaning
};
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< one cell per column
  std::size_t texts = 1;  ///< the number of first columns with words, aligned left; numbers are aligned right
};
using Block = std::variant<Paragraph, Preformatted, Figure, Table>;

struct Section {
  std::string heading;
  std::vector<Block> blocks;
};

/// A page about one run or plan.
struct Page {
  std::string title;
  std::string summary;                                     ///< a sentence or two under the title
  std::vector<std::string> warnings;                       ///< what a reader must know first
  std::vector<std::pair<std::string, std::string>> facts;  ///< of the machine and the run: name and value
  std::vector<Section> sections;
};

/// The page as one self-contained HTML file, without scripts and network. It suits phones, wide
/// screens and paper, light and dark. Throws Error if a row of a table lacks a cell for a column.
std::string to_html(const Page& page);

}  // namespace shardline::tools
