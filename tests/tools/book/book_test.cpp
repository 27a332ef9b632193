// The book's figures. The test's own evaluator computes every printed formula. Every value is compared with
// figures worked out by hand. Also checks verdicts other than `agrees`.

#include "tools/book/book.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "runtime/base/check.h"
#include "tests/runtime/message_of.h"
#include "tests/tools/book/evaluator.h"
#include "tools/book/book_rows.h"

namespace shardline::tools {
namespace {

constexpr double kKiB = 1024;
constexpr double kYear = 365 * 86400.0;
constexpr double kDay = 86400;

/// The values of each section's rows, in SI units, in their order.
const std::vector<std::pair<std::string, std::vector<double>>> kExpected = {
    {"1.1", {1.011e-3, 1.099e-3, 240.2}},
    {"1.1.3", {8755.6}},
    {"1.1ex", {243.2}},
    {"1.2ex", {120.1}},
    {"1.5ex", {298.5}},
    {"2.1ex", {10.16e-3}},
    {"2.2ex", {32, 256, 5.04e16, 4.1e12, 2240, 17920, 4.11e18, 860e12}},
    {"2.3ex", {61333}},
    {"2.4ex", {262.7, 11.1}},
    {"2.5ex", {6e-6, 186.4e-6}},
    {"2.6ex", {66.7e-3, 166.7e-3, 19.8e-3, 1.40e-3}},
    {"3.1", {16384, 512 * kKiB}},
    {"3.2", {372.8e-6, 559.2e-6, 3e-6}},
    {"3.1ex", {16}},
    {"3.2ex", {23.3e-6, 46.6e-6, 11.65e-6}},
    {"3.3ex", {2, 2e-6}},
    {"3.10ex", {0.5, 0.25, 16.0 / 60}},
    {"4.1ex", {17.44e9, 0.25, 524288}},
    {"4.3", {65536, 36864}},
    {"4.4", {83.9e12, 4.19e12}},
    {"4.4.1", {8, 2, 0.25}},
    {"4.5ex", {8192}},
    {"4.7ex", {671.03e9, 37.55e9, 0.216}},
    {"4.8ex", {3840}},
    {"5.1", {2550, 850, 9.6e9}},
    {"5.1.2", {47059, 18823, 16.9 * kDay}},
    {"5.1.3", {19.6}},
    {"5.1.4", {13.69, 396.9, 433.5, 453.6, 940.8}},
    {"5.1.6", {73440}},
    {"5.2", {0, 8, 4, 8, 4, 4, 4, 4, 6, 4, 8}},
    {"5.1ex", {8.49e9, 4.19e9, 0.33e9, 13.02e9}},
    {"5.2ex", {130e9, 41.9e12}},
    {"6.2",
     {56.37e9, 2.10e9, 12.08e9, 70.55e9, 4.2e11, 6.3e24, 435 * kYear, 44.3 * kDay, 140e9, 560e9, 20.97e12, 225,
      2.41e9}},
    {"6.3", {468.1, 1024, 2, 453.6, 1643, 285, 1928, 2048, 4}},
    {"7.1.3", {240.2, 120.1, 240.2}},
    {"7.1.5", {2.57e-3, 21.05e-3}},
    {"7.1.6", {6.71e9}},
    {"7.1.7", {15,      4.98e-3,  12.13e-3, 20.30e-3, 36.65e-3, 69.33e-3, 249.09e-3, 4.17e-3, 5.60e-3,
               7.23e-3, 10.50e-3, 17.04e-3, 52.99e-3, 200.61,   659.30,   787.99,    873.21,  923.13,
               963.53,  239.94,   1429.19,  2212.48,  3047.62,  3756.62,  4529.34}},
    {"7.1ex", {18.39e9, 262144}},
    // 16 chips of 16 GB less 18.39 GB, by 2.147 GB; with one head 0.94e9 parameters fewer, by 0.268 GB.
    {"7.2ex", {110, 888}},
    {"7.3ex", {1.419e-3}},
    {"7.4ex", {14.97, 19.65e-3}},
    // 64 layers of 16 MLPs of 3 * 4096 * 16384 weights, 83.9e6 for attention; 0.13e9 for the vocabulary. Forward, a
    // token takes 2 FLOPs for each of 31.3e9. A chip has 1.61 GB of experts and an eighth of the other 5.5 GB.
    {"7.5ex", {211.66e9, 960, 262144, 62.6e9}},
    {"7.6ex", {2.84e-3, 13.7e9, 16}},
    {"7.3.2", {56.9}},
    {"7.6.3", {360e3}},
    {"7.7ex", {72}},
    {"8.1", {3.3e17, 3.93e17, 5.91e17, 163840, 5.369e9, 84.9, 112.9e9, 7.06, 17.3e-3, 8.64e-3, 1882, 235.3, 26.2}},
    {"8.1.1", {11.7e-6, 18.1e-6, 4.8e-6, 49.8,    8.75,  16,    116e9, 43,    4.375, 8,     58e9,  43,   2.1875,
               4,       29e9,    43,     19.5e-3, 0.276, 0.668, 1.722, 372e9, 138,   0.517, 1.034, 2.069}},
    {"8.1.2", {0.910, 96, 2.99}},
    // 5.34 ms for weights or FLOPs and 3.07 ms for caches, of 16 chips.
    {"8.2", {892}},
    {"8.1ex", {8.117e11, 4.12e-3, 1.002}},
    {"8.2ex", {8.03e9, 128.8e9, 13.76e6, 16}},
    {"8.3ex", {64, 122, 148.6, 1.957e-3}},
    {"9.2.4", {95.6e-3, 1.12e-3}},
    {"10.1.2", {311.0 / 224, 244.0 / 224, 67.0 / 87}},
    {"S",
     {923 * kYear, 346 * kYear, 18.1 * kYear, 8.31 * kYear, 66780 * kYear, 25043 * kYear, 1309 * kYear, 601 * kYear,
      6065, 438657, 590.7, 564.6, 32768, 2 * kKiB* kKiB}},
};

/// Verdicts other than `agrees`, by section and number in the section.
const std::map<std::pair<std::string, std::size_t>, Verdict> kOtherVerdicts = {
    {{"2.2ex", 2}, Verdict::rounding},  {{"2.4ex", 0}, Verdict::rounding},  {{"3.2", 0}, Verdict::rounding},
    {{"4.4.1", 0}, Verdict::exercise},  {{"4.7ex", 0}, Verdict::exercise},  {{"7.5ex", 0}, Verdict::exercise},
    {{"7.5ex", 1}, Verdict::exercise},  {{"7.5ex", 2}, Verdict::exercise},  {{"7.5ex", 3}, Verdict::exercise},
    {{"7.6ex", 0}, Verdict::exercise},  {{"7.6ex", 1}, Verdict::exercise},  {{"7.6ex", 2}, Verdict::exercise},
    {{"3.10ex", 2}, Verdict::exercise}, {{"4.1ex", 0}, Verdict::rounding},  {{"4.3", 1}, Verdict::rounding},
    {{"5.1.4", 0}, Verdict::slip},      {{"5.1.6", 0}, Verdict::rounding},  {{"5.2", 8}, Verdict::slip},
    {{"5.2", 9}, Verdict::exercise},    {{"7.1ex", 1}, Verdict::exercise},  {{"7.7ex", 0}, Verdict::slip},
    {{"7.1.7", 0}, Verdict::slip},      {{"7.2ex", 0}, Verdict::exercise},  {{"7.2ex", 1}, Verdict::exercise},
    {{"7.3ex", 0}, Verdict::exercise},  {{"7.4ex", 0}, Verdict::exercise},  {{"7.4ex", 1}, Verdict::exercise},
    {{"7.3.2", 0}, Verdict::rounding},  {{"8.1", 2}, Verdict::slip},        {{"8.1", 5}, Verdict::rounding},
    {{"8.1", 9}, Verdict::rounding},    {{"8.1", 12}, Verdict::slip},       {{"8.1.1", 3}, Verdict::rounding},
    {{"8.1.1", 10}, Verdict::slip},     {{"8.1.1", 11}, Verdict::slip},     {{"8.1.1", 12}, Verdict::slip},
    {{"8.1.1", 14}, Verdict::slip},     {{"8.1.1", 15}, Verdict::slip},     {{"8.1.1", 20}, Verdict::slip},
    {{"8.1.1", 21}, Verdict::slip},     {{"8.1ex", 0}, Verdict::exercise},  {{"8.1ex", 1}, Verdict::exercise},
    {{"8.1ex", 2}, Verdict::exercise},  {{"8.2ex", 0}, Verdict::exercise},  {{"8.2ex", 1}, Verdict::exercise},
    {{"8.2ex", 2}, Verdict::exercise},  {{"8.2ex", 3}, Verdict::exercise},  {{"8.3ex", 0}, Verdict::exercise},
    {{"8.3ex", 1}, Verdict::exercise},  {{"8.3ex", 2}, Verdict::exercise},  {{"8.3ex", 3}, Verdict::exercise},
    {{"10.1.2", 0}, Verdict::exercise}, {{"10.1.2", 1}, Verdict::exercise}, {{"10.1.2", 2}, Verdict::exercise},
    {{"S", 11}, Verdict::exercise},     {{"S", 12}, Verdict::exercise},     {{"S", 13}, Verdict::exercise},
};

std::vector<BookRow> in_section(const std::vector<BookRow>& rows, const std::string& section) {
  std::vector<BookRow> found;
  for (const BookRow& row : rows) {
    if (row.section == section) found.push_back(row);
  }
  return found;
}

TEST(Evaluator, Computes) {
  EXPECT_DOUBLE_EQ(evaluate("1 + 2 * 3 ^ 2 / 4 - 1e-1"), 5.4);
  EXPECT_DOUBLE_EQ(evaluate("8 / 2 * 4"), 16);
  EXPECT_DOUBLE_EQ(evaluate("2^3^2"), 512);
  EXPECT_DOUBLE_EQ(evaluate("max(sqrt(16), min(9, 2e0)) * (1 - 3)"), -8);
  EXPECT_DOUBLE_EQ(evaluate("2^round(log2(1928)) + ceil(0.2) - floor(1.8)"), 2048);
  for (const char* wrong : {"2 3", "(1", "1 +", "foo(1)", "max(1)", ""}) EXPECT_THROW(evaluate(wrong), std::exception);
}

TEST(Book, FormulasGiveTheValues) {
  for (const BookRow& row : book_rows()) {
    const std::string text = substituted(row);
    EXPECT_NEAR(evaluate(text), row.value, 1e-9 * std::abs(row.value)) << row.section << ": " << text;
  }
}

TEST(Book, ValuesAreThoseWorkedOutByHand) {
  const std::vector<BookRow> rows = book_rows();
  EXPECT_GE(rows.size(), 90U);
  std::size_t covered = 0;
  for (const auto& [section, expected] : kExpected) {
    const std::vector<BookRow> found = in_section(rows, section);
    ASSERT_EQ(found.size(), expected.size()) << section;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].value, expected[i], 0.01 * std::abs(expected[i])) << section << ": " << found[i].quantity;
    }
    covered += found.size();
  }
  EXPECT_EQ(covered, rows.size());
}

TEST(Book, VerdictsHoldAndAreThoseExpected) {
  const std::vector<BookRow> rows = book_rows();
  EXPECT_TRUE(all_hold(rows));
  for (const auto& [section, expected] : kExpected) {
    const std::vector<BookRow> found = in_section(rows, section);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto other = kOtherVerdicts.find({section, i});
      EXPECT_EQ(found[i].verdict, other == kOtherVerdicts.end() ? Verdict::agrees : other->second)
          << section << ": " << found[i].quantity;
      EXPECT_EQ(fault_of(found[i]), "") << section << ": " << found[i].quantity;
    }
  }
}

TEST(Book, QuantitiesAreToldApart) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const BookRow& row : book_rows()) EXPECT_TRUE(seen.emplace(row.section, row.quantity).second) << row.quantity;
}

BookRow row_of(double value, const std::string& book, Verdict verdict = Verdict::agrees) {
  return {.section = "1",
          .quantity = "q",
          .formula = "a",
          .names = {{"a", value}},
          .value = value,
          .unit = "ms",
          .book = book,
          .verdict = verdict};
}

TEST(BookVerdicts, AgreeWithinOnePercentOrInTheDigitsPrinted) {
  const auto holds = [](double ms, const std::string& book) { return fault_of(row_of(ms * 1e-3, book)).empty(); };
  EXPECT_TRUE(holds(201.9, "200"));
  EXPECT_FALSE(holds(202.1, "200"));
  EXPECT_TRUE(holds(198.1, "200"));
  EXPECT_FALSE(holds(197.9, "200"));
  EXPECT_TRUE(holds(2.56, "2.5"));   // cut off
  EXPECT_TRUE(holds(2.599, "2.5"));  // cut off
  EXPECT_FALSE(holds(2.61, "2.5"));
  EXPECT_TRUE(holds(2.46, "2.5"));  // rounded
  EXPECT_FALSE(holds(2.44, "2.5"));
  EXPECT_TRUE(holds(4.4e9, "4e9"));
  EXPECT_FALSE(holds(5.1e9, "4e9"));
  EXPECT_FALSE(holds(4.2e9, "4.0e9"));
  EXPECT_FALSE(holds(0.1, "0"));  // 0 allows no rounding
  EXPECT_TRUE(holds(0, "0"));
}

TEST(BookVerdicts, NeedTheirReasons) {
  EXPECT_EQ(fault_of(row_of(3e-3, "2")), "ours is not the book's figure");
  EXPECT_EQ(fault_of(row_of(std::numeric_limits<double>::quiet_NaN(), "2")), "ours is nan");
  BookRow slip = row_of(3e-3, "2", Verdict::slip);
  EXPECT_EQ(fault_of(slip), "a slip without a note that explains it");
  slip.note = "why";
  EXPECT_EQ(fault_of(slip), "");
  slip.book = "3";
  EXPECT_EQ(fault_of(slip), "called a slip, but ours is the book's figure");
  BookRow rounding = row_of(3e-3, "2", Verdict::rounding);
  rounding.note = "why";
  EXPECT_EQ(fault_of(rounding), "the rounded inputs are not given");
  rounding.rounded = 3.1e-3;
  EXPECT_EQ(fault_of(rounding), "the rounded inputs do not give the book's figure either");
  rounding.rounded = 2.1e-3;
  EXPECT_EQ(fault_of(rounding), "");
  EXPECT_EQ(fault_of(row_of(3e-3, "3", Verdict::exercise)), "an exercise is a row without a figure of the book");
  EXPECT_EQ(fault_of(row_of(3e-3, "")), "an exercise is a row without a figure of the book");
  EXPECT_FALSE(all_hold({row_of(3e-3, "3"), row_of(3e-3, "2")}));
}

TEST(BookVerdicts, OfARowThatDisagreesAreSaid) {
  const std::vector<BookRow> rows = {row_of(3e-3, "2")};
  EXPECT_EQ(book_json(rows)[0].at("verdict"), "disagrees");
  EXPECT_NE(book_text(rows).find("+50.0%  disagrees"), std::string::npos);
  EXPECT_NE(book_text(rows).find("ours is not the book's figure"), std::string::npos);
}

TEST(BookFormulas, TakeValuesForNames) {
  BookRow row = row_of(0, "");
  row.formula = "2 B D / (W_ici n) + max(B, D)^2 - sqrt(D) 4";
  row.names = {{"B", 1024}, {"D", 0.5}, {"W_ici", 4.5e10}, {"n", 3}};
  EXPECT_EQ(substituted(row), "2 * 1024 * 0.5 / (4.5e10 * 3) + max(1024, 0.5)^2 - sqrt(0.5) * 4");
  row.names.pop_back();
  EXPECT_THROW(substituted(row), Error);
  row.names = {{"B", 1}, {"D", 1}, {"W_ici", 1}, {"n", 1}, {"F", 1}};
  EXPECT_THROW(substituted(row), Error);
}

TEST(BookRows, AreChosenBySection) {
  const std::vector<BookRow> rows = book_rows();
  const auto sections = [&](const std::string& prefix) {
    std::set<std::string> found;
    for (const BookRow& row : rows_of(rows, prefix)) found.insert(row.section);
    return found;
  };
  EXPECT_EQ(sections("").size(), kExpected.size());
  EXPECT_EQ(sections("1"), (std::set<std::string>{"1.1", "1.1.3", "1.1ex", "1.2ex", "1.5ex"}));
  EXPECT_EQ(sections("5.1"), (std::set<std::string>{"5.1", "5.1.2", "5.1.3", "5.1.4", "5.1.6", "5.1ex"}));
  EXPECT_EQ(sections("3.1"), (std::set<std::string>{"3.1", "3.1ex"}));  // not 3.10ex
  EXPECT_EQ(sections("S"), (std::set<std::string>{"S"}));
  const std::string refusal = usage_message([&] { rows_of(rows, "12"); });
  EXPECT_TRUE(refusal.starts_with("section \"12\" has no figures here; there are 1.1, 1.1.3, ")) << refusal;
  EXPECT_EQ(refusal.find('\n'), std::string::npos);
}

TEST(BookText, FitsAndNamesEveryRow) {
  const std::vector<BookRow> rows = book_rows();
  const std::string text = book_text(rows);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  EXPECT_NE(text.find("\nexercise 2.4\n"), std::string::npos);
  EXPECT_NE(text.find("\nsection 5.1.4\n"), std::string::npos);
  EXPECT_NE(text.find("\nlecture slides\n"), std::string::npos);
  EXPECT_NE(text.find("226 figures: 169 agrees, 34 exercise, 10 rounding and 13 slip\n"), std::string::npos);
}

TEST(BookRecord, HasTheKeysOfEveryRow) {
  const std::vector<BookRow> rows = book_rows();
  const Json record = book_json(rows);
  ASSERT_EQ(record.size(), rows.size());
  for (const Json& row : record) {
    for (const char* key : {"section", "quantity", "formula", "substituted", "unit", "verdict"}) {
      EXPECT_TRUE(row.at(key).is_string()) << row;
    }
    EXPECT_TRUE(row.at("value").is_number()) << row;
    const bool exercise = row.at("verdict") == "exercise";
    EXPECT_EQ(row.at("book_value").is_null(), exercise) << row;
    EXPECT_EQ(row.at("rel_diff").is_null(), exercise) << row;
    if (exercise) continue;
    const double book = row.at("book_value").get<double>();
    const double value = row.at("value").get<double>();
    EXPECT_NEAR(row.at("rel_diff").get<double>() * book, value - book, 1e-12 * std::abs(value)) << row;
    EXPECT_TRUE(row.at("verdict") == "agrees" || row.contains("note")) << row;
  }
  EXPECT_DOUBLE_EQ(record[0].at("book_value").get<double>(), 1.01e-3);
  EXPECT_EQ(record[0].at("unit"), "s");
}

}  // namespace
}  // namespace shardline::tools
