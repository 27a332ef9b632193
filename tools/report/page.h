#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shardline::tools {

/// What a section of a page is made of. All text is plain and shown as it is, but for the markup of figures.
struct Paragraph {
  std::string text;
};
/// Lines in letters of one width. Folded, a reader sees `summary` and opens them; otherwise it is not shown.
struct Preformatted {
  std::string text;
  bool folded = false;
  std::string summary = {};
};
/// `svg` is what a room of figures made (see svg_figure()).
struct Figure {
  std::string svg;
  std::string caption;
  std::vector<std::pair<std::size_t, std::string>> key = {};  ///< numbers in the figure and what they stand for
};
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< as many cells as there are columns
  std::size_t texts = 1;  ///< so many of the first columns are words, which stand at the left; numbers at the right
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
  std::vector<std::string> warnings;                       ///< what a reader must know before believing anything
  std::vector<std::pair<std::string, std::string>> facts;  ///< of the machine and the run: name and value
  std::vector<Section> sections;
};

/// The page as one HTML file that needs nothing else: no script, no network. It is made for phones, wide screens and
/// paper, light and dark. Throws Error where a row of a table has not a cell for each column.
std::string to_html(const Page& page);

}  // namespace shardline::tools
