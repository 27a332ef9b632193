#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardline::tools {

/// How our figure and the book's compare.
enum class Verdict : std::uint8_t {
  agrees,    ///< within 1%, or equal in the book's digits, rounded or cut off
  rounding,  ///< the book used rounded inputs
  slip,      ///< the book's figure does not follow from its own formula
  exercise,  ///< the book gives no figure
};

std::string_view name_of(Verdict verdict);

/// One figure of the book, computed again.
struct BookRow {
  std::string section;   ///< "3.2"; "3.2ex" for an exercise; "S" for the slides
  std::string quantity;  ///< in words
  /// Names, numbers, + - * / ^, parentheses, and sqrt, log2, round, ceil, floor, max, min.
  /// Neighbours are multiplied, with the same precedence as *.
  std::string formula;
  std::vector<std::pair<std::string, double>> names;  ///< the names of the formula, SI
  double value = 0;                                   ///< SI, computed without the formula
  std::string unit;                                   ///< for printing: a unit of scale_of()
  std::string book = {};                              ///< the book's figure in this unit, as printed; empty for none
  Verdict verdict = Verdict::agrees;                  ///< the claim; see fault_of()
  std::optional<double> rounded = {};                 ///< for Verdict::rounding: the result of the book's inputs, SI
  std::string note = {};
};

/// The SI value of one unit, and its SI unit. Units without a prefix, like "tokens" or none, are
/// their own.
struct UnitScale {
  double si = 1;
  std::string base;
};

UnitScale scale_of(const std::string& unit);

/// The book's figure in SI.
std::optional<double> book_value(const BookRow& row);

/// value / book's - 1. 0 if both are 0. None if there is no figure of the book, or if only that is
/// 0.
std::optional<double> relative_difference(const BookRow& row);

/// True if `value` (SI) is within 1% of the book's figure, or equal to it when rounded or cut off
/// to its digits. 0 must be exact.
bool agrees(const BookRow& row, double value);

/// What contradicts the verdict of a row, in words; empty if nothing does. Every verdict except
/// `exercise` is tested: `agrees` by agrees(); `rounding`: the rounded inputs give the book's
/// figure and the exact ones do not; `slip` by a difference. A row that does not agree needs a
/// note.
std::string fault_of(const BookRow& row);

/// True if no row has a fault.
bool all_hold(const std::vector<BookRow>& rows);

/// The note of a row, and the digits by which it agrees if not within 1%.
std::string explanation_of(const BookRow& row);

/// The formula with values for names, and * between neighbours. Throws Error for a name without a
/// value, and for a value whose name is not in the formula.
std::string substituted(const BookRow& row);

/// A value (SI) in a unit, with the digits that matter: "1.011 ms", "17920", "4.113e18 FLOP/s".
std::string shown(double value, const std::string& unit);

}  // namespace shardline::tools
