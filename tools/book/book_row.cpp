#include "tools/book/book_row.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

constexpr double kTolerance = 0.01;
constexpr double kDay = 86400;
constexpr double kYear = 365 * kDay;

/// One of the last digit printed: 0.01 of "1.04", 1 of "8755", 1e8 of "5.1e9".
double last_digit(const std::string& printed) {
  const std::size_t exponent = printed.find('e');
  const std::string digits = printed.substr(0, exponent);
  const std::size_t point = digits.find('.');
  const auto decimals = point == std::string::npos ? 0 : static_cast<double>(digits.size() - point - 1);
  const double scale = exponent == std::string::npos ? 0 : std::stod(printed.substr(exponent + 1));
  return std::pow(10, scale - decimals);
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Names, numbers and single characters of a formula.
std::vector<std::string> tokens_of(const std::string& formula) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < formula.size();) {
    std::size_t end = i + 1;
    if (is_letter(formula[i])) {
      while (end < formula.size() && (is_letter(formula[end]) || is_digit(formula[end]))) ++end;
    } else if (is_digit(formula[i])) {
      const auto in_number = [&](std::size_t at) {
        const bool sign = (formula[at] == '-' || formula[at] == '+') && formula[at - 1] == 'e';
        return is_digit(formula[at]) || formula[at] == '.' || formula[at] == 'e' || sign;
      };
      while (end < formula.size() && in_number(end)) ++end;
    }
    if (formula[i] != ' ') tokens.push_back(formula.substr(i, end - i));
    i = end;
  }
  return tokens;
}

bool is_function(const std::string& token) {
  static const std::set<std::string> functions = {"sqrt", "log2", "round", "ceil", "floor", "max", "min"};
  return functions.count(token) > 0;
}

/// True if `left` ends an operand and `right` begins one.
bool side_by_side(const std::string& left, const std::string& right) {
  const bool ends = !is_function(left) && (is_letter(left[0]) || is_digit(left[0]) || left == ")");
  return ends && (is_letter(right[0]) || is_digit(right[0]) || right == "(");
}

/// "4.59e+14" as "4.59e14".
std::string short_exponent(const std::string& text) {
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  return text.substr(0, exponent + 1) + std::to_string(std::stoi(text.substr(exponent + 1)));
}

/// The shortest text that parses to this number: "8192", "0.4", "4.59e14".
std::string number_text(double value) {
  if (std::abs(value) < 1e7 && (std::abs(value) >= 1e-3 || value == 0)) return fmt::format("{}", value);
  std::string text;
  for (int digits = 0; text.empty() || std::stod(text) != value; ++digits) text = fmt::format("{:.{}e}", value, digits);
  return short_exponent(text);
}

/// The value in the units and digits of the book's figure.
bool within_tolerance(const BookRow& row, double value) {
  const double book = std::stod(row.book);
  return std::abs(value / scale_of(row.unit).si - book) <= kTolerance * std::abs(book);
}

constexpr double kOfArithmetic = 1e-12;

bool rounds_to_book(const BookRow& row, double value) {
  const double book = std::stod(row.book);
  const double error = kOfArithmetic * std::abs(book);
  return std::abs(value / scale_of(row.unit).si - book) <= last_digit(row.book) / 2 + error;
}

bool cut_off_to_book(const BookRow& row, double value) {
  const double book = std::stod(row.book);
  const double ours = value / scale_of(row.unit).si;
  return ours >= book - kOfArithmetic * std::abs(book) && ours < book + last_digit(row.book);
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::agrees:
      return "agrees";
    case Verdict::rounding:
      return "rounding";
    case Verdict::slip:
      return "slip";
    case Verdict::exercise:
      return "exercise";
  }
  throw Error("unknown verdict");
}

UnitScale scale_of(const std::string& unit) {
  static const std::map<std::string, UnitScale> scales = {
      {"us", {1e-6, "s"}},  {"ms", {1e-3, "s"}},     {"days", {kDay, "s"}}, {"years", {kYear, "s"}},
      {"kB", {1e3, "B"}},   {"MB", {1e6, "B"}},      {"GB", {1e9, "B"}},    {"TB", {1e12, "B"}},
      {"KiB", {1024, "B"}}, {"MiB", {1048576, "B"}}, {"%", {0.01, ""}},
  };
  const auto found = scales.find(unit);
  return found == scales.end() ? UnitScale{1, unit} : found->second;
}

std::optional<double> book_value(const BookRow& row) {
  if (row.book.empty()) return std::nullopt;
  return std::stod(row.book) * scale_of(row.unit).si;
}

std::optional<double> relative_difference(const BookRow& row) {
  const std::optional<double> book = book_value(row);
  if (!book || (*book == 0 && row.value != 0)) return std::nullopt;
  return *book == 0 ? 0 : row.value / *book - 1;
}

bool agrees(const BookRow& row, double value) {
  if (std::stod(row.book) == 0) return value == 0;
  return within_tolerance(row, value) || rounds_to_book(row, value) || cut_off_to_book(row, value);
}

std::string fault_of(const BookRow& row) {
  if (!std::isfinite(row.value)) return fmt::format("ours is {}", row.value);
  if (row.book.empty() != (row.verdict == Verdict::exercise))
    return "an exercise is a row without a figure of the book";
  if (row.verdict == Verdict::exercise) return "";
  const bool close = agrees(row, row.value);
  if (row.verdict == Verdict::agrees) return close ? "" : "ours is not the book's figure";
  if (close) return fmt::format("called a {}, but ours is the book's figure", name_of(row.verdict));
  if (row.note.empty()) return fmt::format("a {} without a note that explains it", name_of(row.verdict));
  if (row.verdict == Verdict::slip) return "";
  if (!row.rounded) return "the rounded inputs are not given";
  return agrees(row, *row.rounded) ? "" : "the rounded inputs do not give the book's figure either";
}

bool all_hold(const std::vector<BookRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const BookRow& row) { return fault_of(row).empty(); });
}

std::string explanation_of(const BookRow& row) {
  if (row.verdict != Verdict::agrees || within_tolerance(row, row.value) || !agrees(row, row.value)) return row.note;
  const std::string how = rounds_to_book(row, row.value) ? "rounded" : "cut off";
  return fmt::format("{} to the digits that the book prints{}{}", how, row.note.empty() ? "" : "; ", row.note);
}

std::string substituted(const BookRow& row) {
  std::string text;
  std::string previous;
  std::set<std::string> used;
  for (const std::string& token : tokens_of(row.formula)) {
    std::string value = token;
    if (is_letter(token[0]) && !is_function(token)) {
      const auto named = [&](const auto& entry) { return entry.first == token; };
      const auto found = std::find_if(row.names.begin(), row.names.end(), named);
      SHARDLINE_CHECK(found != row.names.end(), "{}: {} has no value in {}", row.quantity, token, row.formula);
      used.insert(token);
      value = number_text(found->second);
    }
    if (!previous.empty() && side_by_side(previous, token)) text += " * ";
    const bool spaced = token == "+" || token == "-" || token == "*" || token == "/";
    text += spaced ? " " + value + " " : token == "," ? ", " : value;
    previous = token;
  }
  SHARDLINE_CHECK(used.size() == row.names.size(), "{}: a value is not in the formula {}", row.quantity, row.formula);
  return text;
}

std::string shown(double value, const std::string& unit) {
  const double scaled = value / scale_of(unit).si;
  const double size = std::abs(scaled);
  const bool whole = scaled == std::round(scaled);
  const int decimals = size >= 1000 || whole ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  const bool plain = size < 1e7 && (size >= 1e-2 || size == 0);
  const std::string number =
      plain ? fmt::format("{:.{}f}", scaled, decimals) : short_exponent(fmt::format("{:.3e}", scaled));
  return unit.empty() || unit == "%" ? number + unit : number + " " + unit;
}

}  // namespace shardline::tools
