#include "tools/report/page.h"

#include <fmt/format.h>

#include "runtime/base/check.h"
#include "tools/report/page_style.h"
#include "tools/report/svg.h"

namespace shardline::tools {
namespace {

/// Allows the styles in the file. Nothing may be fetched, run or sent.
constexpr const char* kPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// `text` as XML, line by line. xml_text() alone would join the lines.
std::string xml_lines(const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += xml_text(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return result;
}

std::string html_of(const Paragraph& paragraph) { return fmt::format("<p>{}</p>\n", xml_text(paragraph.text)); }

std::string html_of(const Preformatted& block) {
  // A parser drops the first line break in a pre. tabindex lets a keyboard scroll it.
  std::string lines = fmt::format("<pre tabindex=\"0\">\n{}</pre>\n", xml_lines(block.text));
  if (!block.folded) return lines;
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", xml_text(block.summary), lines);
}

std::string html_of(const Figure& figure) {
  std::string key;
  for (const auto& [number, name] : figure.key) {
    key += fmt::format("<li value=\"{}\">{}</li>\n", number, xml_text(name));
  }
  if (!key.empty()) key = "<ol>\n" + key + "</ol>\n";
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n{}</figure>\n", figure.svg, xml_text(figure.caption),
                     key);
}

std::string row_html(const std::vector<std::string>& cells, const char* element, std::size_t texts) {
  std::string text = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += fmt::format("<{0}{1}>{2}</{0}>", element, i < texts ? " class=\"word\"" : "", xml_text(cells[i]));
  }
  return text + "</tr>\n";
}

std::string html_of(const Table& table) {
  std::string text = "<div class=\"table\" tabindex=\"0\"><table>\n<thead>" +
                     row_html(table.columns, "th", table.texts) + "</thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    SHARDLINE_CHECK(row.size() == table.columns.size(), "{} cells in {} columns", row.size(), table.columns.size());
    text += row_html(row, "td", table.texts);
  }
  return text + "</tbody>\n</table></div>\n";
}

std::string html_of(const Section& section) {
  std::string text = fmt::format("<section>\n<h2>{}</h2>\n", xml_text(section.heading));
  for (const Block& block : section.blocks) text += std::visit([](const auto& each) { return html_of(each); }, block);
  return text + "</section>\n";
}

std::string head(const Page& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n",
      kPolicy, xml_text(page.title), page_style());
}

}  // namespace

std::string to_html(const Page& page) {
  std::string text = head(page) + fmt::format("<body>\n<main>\n<header>\n<h1>{}</h1>\n", xml_text(page.title));
  if (!page.summary.empty()) text += fmt::format("<p class=\"summary\">{}</p>\n", xml_text(page.summary));
  for (const std::string& warning : page.warnings) {
    text += fmt::format("<p class=\"warning\">{}</p>\n", xml_text(warning));
  }
  if (!page.facts.empty()) {
    text += "<dl>\n";
    for (const auto& [name, value] : page.facts) {
      text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", xml_text(name), xml_text(value));
    }
    text += "</dl>\n";
  }
  text += "</header>\n";
  for (const Section& section : page.sections) text += html_of(section);
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace shardline::tools
