#include "tools/book/book.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>

#include "runtime/base/lists.h"
#include "tools/book/book_rows.h"
#include "tools/output/output.h"
#include "tools/output/quiet_record.h"
#include "tools/output/text.h"

namespace shardline::tools {
namespace {

struct BookOptions {
  CommonOptions common;
  std::string section;
};

constexpr std::size_t kWidth = 120;
constexpr std::size_t kQuantityWidth = 68;

constexpr const char* kDisagrees = "disagrees";

std::string verdict_of(const BookRow& row) {
  return fault_of(row).empty() ? std::string(name_of(row.verdict)) : kDisagrees;
}

/// "section 3.2", "exercise 2.4", "lecture slides"
std::string heading(const std::string& section) {
  if (section == "S") return "lecture slides";
  if (section.ends_with("ex")) return "exercise " + section.substr(0, section.size() - 2);
  return "section " + section;
}

/// The words of `text` in lines of at most `width`, each with `indent`. A longer word has its own
/// line.
std::vector<std::string> wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::vector<std::string> lines = {indent};
  for (const std::string& word : split(text, ' ')) {
    const bool empty = lines.back().size() == indent.size();
    if (!empty && lines.back().size() + 1 + word.size() > width) lines.push_back(indent);
    const bool first = lines.back().size() == indent.size();
    lines.back() += first ? word : " " + word;
  }
  return lines;
}

std::string difference_text(const BookRow& row) {
  const std::optional<double> difference = relative_difference(row);
  return difference ? fmt::format("{:+.1f}%", 100 * *difference) : "-";
}

/// The digits that the book printed: "1.01 ms".
std::string book_figure(const BookRow& row) {
  if (row.book.empty()) return "-";
  return row.unit.empty() || row.unit == "%" ? row.book + row.unit : row.book + " " + row.unit;
}

std::string row_text(const BookRow& row) {
  const std::vector<std::string> quantity = wrapped(row.quantity, kQuantityWidth, "  ");
  std::string text = fmt::format("{:<{}} {:>15} {:>15} {:>8}  {}\n", quantity[0], kQuantityWidth,
                                 shown(row.value, row.unit), book_figure(row), difference_text(row), verdict_of(row));
  for (std::size_t i = 1; i < quantity.size(); ++i) text += quantity[i] + "\n";
  std::vector<std::string> below = wrapped(row.formula + " = " + substituted(row), kWidth, "      ");
  if (const std::string note = explanation_of(row); !note.empty()) {
    for (std::string& line : wrapped(note, kWidth, "      ")) below.push_back(std::move(line));
  }
  const std::string fault = fault_of(row);
  if (!fault.empty()) below.push_back("      " + fault);
  for (const std::string& line : below) text += line + "\n";
  return text;
}

/// "146 figures: 129 agrees, 9 exercise, 5 rounding and 3 slip"
std::string summary(const std::vector<BookRow>& rows) {
  std::map<std::string, int> counts;
  for (const BookRow& row : rows) ++counts[verdict_of(row)];
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts) parts.push_back(fmt::format("{} {}", count, verdict));
  return fmt::format("{} figures: {}\n", rows.size(), listed(parts));
}

int book(const BookOptions& options) {
  const std::vector<BookRow> rows = rows_of(book_rows(), options.section);
  check_files(files_of(options.common));
  if (!options.common.json.empty()) {
    Json record = quiet_header("shardline.book/1", "book", AbstractMesh());
    record["rows"] = book_json(rows);
    write_output(options.common.json, record_text(record));
  }
  print(book_text(rows));
  return all_hold(rows) ? 0 : 1;
}

constexpr const char* kBookExample = R"(
Example: how long a gather takes that the book measures, too.

  shardline book --section 3.2

prints, among others,

  AllGather of bf16[2048,8192] on a v5e line of 4: 3 hops                   559.2 us          560 us    -0.1%  agrees
      3 (2 E F / 4) / w = 3 * (2 * 2048 * 8192 / 4) / 4.5e10
      the authors measured 680 us

the figure as this library computes it, the book's, and how they differ; below, the formula and the values in it, all SI.
Verdicts: `agrees` is within 1%, or equal in the digits that the book prints, rounded or cut off; `rounding` is what the
rounded inputs that the book took explain; `slip` is a figure that does not follow from the book's own formula, with
the reason; `exercise` has no figure in the book. Exit code 1 if a verdict does not hold. No MPI is started.)";

}  // namespace

std::string book_text(const std::vector<BookRow>& rows) {
  std::string text = fmt::format("{:<{}} {:>15} {:>15} {:>8}  {}\n", "quantity", kQuantityWidth, "ours", "the book",
                                 "differs", "verdict");
  std::string section;
  for (const BookRow& row : rows) {
    if (row.section != section) text += "\n" + heading(row.section) + "\n";
    section = row.section;
    text += row_text(row);
  }
  return text + "\n" + summary(rows);
}

Json book_json(const std::vector<BookRow>& rows) {
  Json result = Json::array();
  for (const BookRow& row : rows) {
    const std::optional<double> book = book_value(row);
    const std::optional<double> difference = relative_difference(row);
    Json entry{{"section", row.section},
               {"quantity", row.quantity},
               {"formula", row.formula},
               {"substituted", substituted(row)},
               {"value", row.value},
               {"unit", scale_of(row.unit).base},
               {"book_value", book ? Json(*book) : Json()},
               {"rel_diff", difference ? Json(*difference) : Json()},
               {"verdict", verdict_of(row)}};
    if (const std::string note = explanation_of(row); !note.empty()) entry["note"] = note;
    result.push_back(std::move(entry));
  }
  return result;
}

void add_book(CLI::App& app, Command& run) {
  CLI::App* command =
      app.add_subcommand("book", "Compute the worked numbers of How to Scale Your Model again, beside the book's");
  const auto options = std::make_shared<BookOptions>();
  command->add_option("--section", options->section, "Only sections that begin so, as in 5.1, 2.4ex (exercise) or S")
      ->check(not_empty());
  add_json_option(*command, options->common);
  command->footer(kBookExample);
  command->callback([options, &run] { run = [options] { return book(*options); }; });
}

}  // namespace shardline::tools
