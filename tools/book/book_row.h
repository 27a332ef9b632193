#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardline::tools {

/// How a figure of ours and the book's stand to each other.
enum class Verdict : std::uint8_t {
  agrees,    ///< within 1%, or equal as far as the book's digits go, rounded or cut off
  rounding,  ///< the book's figure comes of the rounded inputs it was made from
  slip,      ///< the book's figure does not follow from its own formula
  exercise,  ///< the book gives no figure
};

std::string_view name_of(Verdict verdict);

/// One figure of the book, computed again.
struct BookRow {
  std::string section;   ///< "3.2"; of an exercise "3.2ex"; of the slides "S"
  std::string quantity;  ///< in words
  /// Names, numbers, + - * / ^, parentheses, and sqrt, log2, round, ceil, floor, max, min; what stands side by side is
  /// multiplied, as tightly as by *.
  std::string formula;
  std::vector<std::pair<std::string, double>> names;  ///< those of the formula, SI
  double value = 0;                                   ///< SI, computed without the formula
  std::string unit;                                   ///< in which it is printed: one of those of scale_of()
  std::string book = {};                              ///< the book's figure in this unit, as printed; empty for none
  Verdict verdict = Verdict::agrees;                  ///< what is claimed of it; see fault_of()
  std::optional<double> rounded = {};                 ///< of Verdict::rounding: SI, what the book's inputs give
  std::string note = {};
};

/// What one of a unit is in SI, and the SI unit. Units without a prefix, like "tokens" or none, are their own.
struct UnitScale {
  double si = 1;
  std::string base;
};

UnitScale scale_of(const std::string& unit);

/// The book's figure in SI.
std::optional<double> book_value(const BookRow& row);

/// value / book's - 1; 0 where both are 0; none without a figure of the book, or where it alone is 0.
std::optional<double> relative_difference(const BookRow& row);

/// True when `value` (SI) is within 1% of the book's figure, or is it once rounded or cut off to its digits. 0 is
/// exact.
bool agrees(const BookRow& row, double value);

/// What contradicts the verdict of a row, in words; empty when nothing does. Every claim but `exercise` is tested:
/// `agrees` by agrees(); `rounding` by the rounded inputs, which must give the book's figure where the exact ones do
/// not; `slip` by a difference. A row that does not agree needs a note.
std::string fault_of(const BookRow& row);

/// True when no row has a fault.
bool all_hold(const std::vector<BookRow>& rows);

/// The note of a row, and by which digits it agrees where that is not within 1%.
std::string explanation_of(const BookRow& row);

/// The formula with the values in place of the names and * between what stands side by side. Throws Error on a name
/// without a value, and on a value whose name is not in the formula.
std::string substituted(const BookRow& row);

/// A value (SI) in a unit with the digits that matter: "1.011 ms", "17920", "4.113e18 FLOP/s".
std::string shown(double value, const std::string& unit);

}  // namespace shardline::tools
