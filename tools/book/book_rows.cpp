#include "tools/book/book_rows.h"

#include <algorithm>
#include <cctype>

#include "runtime/base/check.h"
#include "tools/output/text.h"

namespace shardline::tools {
namespace {

bool is_of(const std::string& section, const std::string& prefix) {
  if (!section.starts_with(prefix)) return false;
  const bool in_number = section.size() > prefix.size() && std::isdigit(section[prefix.size()]) != 0;
  return !in_number || prefix.empty() || prefix.back() == '.';
}

}  // namespace

std::vector<BookRow> book_rows() {
  std::vector<BookRow> rows;
  for (const auto& of_section : {roofline_rows, chip_rows, sharding_rows, transformer_rows, training_rows, llama_rows,
                                 inference_rows, serving_rows, profile_rows, slide_rows}) {
    for (BookRow& row : of_section()) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<BookRow> rows_of(const std::vector<BookRow>& rows, const std::string& prefix) {
  std::vector<BookRow> found;
  std::vector<std::string> sections;
  for (const BookRow& row : rows) {
    if (is_of(row.section, prefix)) found.push_back(row);
    if (std::find(sections.begin(), sections.end(), row.section) == sections.end()) sections.push_back(row.section);
  }
  require(!found.empty(), "section \"{}\" has no figures here; there are {}", prefix, listed(sections));
  return found;
}

}  // namespace shardline::tools
