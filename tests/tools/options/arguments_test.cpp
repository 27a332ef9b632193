// Arguments mean exactly their text: numbers are decimal, and names are names.

#include "tools/options/arguments.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <optional>

#include "tools/options/number_option.h"

namespace shardline::tools {
namespace {

struct Values {
  Index steps = 400;
  int prefetch = 1;
  std::uint64_t seed = 0;
  std::optional<Index> chips;
  std::optional<int> threads;
  double rate = 0.5;
  double share = 0.4;
  double part = 0;
  std::vector<std::string> files;
  std::string name;
};

/// Parses the arguments of a command `run`. Returns the text of the error, if there is one.
std::string parse(const std::vector<std::string>& arguments, Values& values) {
  CLI::App app;
  CLI::App* run = app.add_subcommand("run");
  add_whole_option(*run, {.name = "--steps", .help = "Steps"}, values.steps);
  add_whole_option(*run, {.name = "--prefetch", .help = "Layers", .least = 0, .most = 1000}, values.prefetch);
  add_whole_option(*run, {.name = "--seed", .help = "Seed", .least = 0, .most = ~std::uint64_t{0}}, values.seed);
  add_whole_option(*run, {.name = "--chips", .help = "Chips", .most = 4096}, values.chips);
  add_whole_option(*run, {.name = "--threads", .help = "Threads"}, values.threads);
  add_decimal_option(*run, {.name = "--lr", .help = "Rate", .positive = true}, values.rate);
  add_decimal_option(*run, {.name = "--share", .help = "Share", .least = 0.001, .most = 1}, values.share);
  add_decimal_option(*run, {.name = "--part", .help = "Part", .most = 1, .below = true}, values.part);
  run->add_option("FILE,--data", values.files, "Files");
  run->add_option("--name", values.name, "Name");
  std::vector<std::string> all{"run"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  try {
    parse_as_typed(app, all);
  } catch (const CLI::ParseError& error) {
    return as_typed(error.what());
  }
  return "";
}

std::string fault_of(const std::vector<std::string>& arguments) {
  Values values;
  return parse(arguments, values);
}

TEST(Arguments, WholeNumbersAreDecimal) {
  Values values;
  EXPECT_EQ(
      parse({"--steps", "0100", "--chips", "08", "--threads=010", "--prefetch", "0", "--seed", "18446744073709551615"},
            values),
      "");
  EXPECT_EQ(values.steps, 100);
  EXPECT_EQ(values.chips, 8);
  EXPECT_EQ(values.threads, 10);
  EXPECT_EQ(values.prefetch, 0);
  EXPECT_EQ(values.seed, ~std::uint64_t{0});
}

TEST(Arguments, OtherWholeNumbersAreRefusedWithWhatIsLegal) {
  EXPECT_EQ(fault_of({"--chips", "0x40"}), "--chips 0x40: a whole number from 1 to 4096");
  EXPECT_EQ(fault_of({"--chips", "4097"}), "--chips 4097: a whole number from 1 to 4096");
  EXPECT_EQ(fault_of({"--steps", "0"}), "--steps 0: a whole number of at least 1");
  EXPECT_EQ(fault_of({"--steps", "1e3"}), "--steps 1e3: a whole number of at least 1");
  EXPECT_EQ(fault_of({"--steps", "9223372036854775808"}), "--steps 9223372036854775808: a whole number of at least 1");
  EXPECT_EQ(fault_of({"--threads", "4294967298"}), "--threads 4294967298: a whole number of at least 1");
  EXPECT_EQ(fault_of({"--prefetch", "-1"}), "--prefetch -1: a whole number from 0 to 1000");
  EXPECT_EQ(fault_of({"--seed", "-1"}), "--seed -1: a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(fault_of({"--steps="}), "--steps : a whole number of at least 1");
}

TEST(Arguments, NumbersAreFinite) {
  Values values;
  EXPECT_EQ(parse({"--lr", "03e-1", "--share", "1"}, values), "");
  EXPECT_EQ(values.rate, 0.3);
  EXPECT_EQ(values.share, 1);
  for (const std::string text : {"0", "-1", "nan", "inf", "0x1p-3", "1e400"}) {
    EXPECT_EQ(fault_of({"--lr", text}), "--lr " + text + ": a positive number");
  }
  EXPECT_EQ(fault_of({"--share", "0"}), "--share 0: a number from 0.001 to 1");
  EXPECT_EQ(parse({"--part", "0.999"}, values), "");
  EXPECT_EQ(values.part, 0.999);
  for (const std::string text : {"1", "2", "-0.1"}) {
    EXPECT_EQ(fault_of({"--part", text}), "--part " + text + ": a number of at least 0, below 1");
  }
}

TEST(Arguments, NamesAreNotLists) {
  Values values;
  EXPECT_EQ(parse({"--data", "[x]", "[a,b]", "--name", "[n]"}, values), "");
  EXPECT_EQ(values.files, (std::vector<std::string>{"[x]", "[a,b]"}));
  EXPECT_EQ(values.name, "[n]");
  values = {};
  EXPECT_EQ(parse({"--data=[x]", "--data={y}", "--data", "a,b", "c d", "x=[1]", "]"}, values), "");
  EXPECT_EQ(values.files, (std::vector<std::string>{"[x]", "{y}", "a,b", "c d", "x=[1]", "]"}));
  values = {};
  EXPECT_EQ(parse({"[x]", "[]"}, values), "");
  EXPECT_EQ(values.files, (std::vector<std::string>{"[x]", "[]"}));
}

TEST(Arguments, AnEmptyValueTakesNoOtherArgument) {
  Values values;
  EXPECT_EQ(parse({"--name=", "--steps", "3"}, values), "");
  EXPECT_EQ(values.name, "");
  EXPECT_EQ(values.steps, 3);
}

TEST(Arguments, ErrorsShowWhatWasTyped) {
  EXPECT_NE(fault_of({"--frobnicate=[x]"}).find("--frobnicate=[x]"), std::string::npos);
  EXPECT_EQ(fault_of({"--frobnicate=[x]"}).find('\x1f'), std::string::npos);
}

}  // namespace
}  // namespace shardline::tools
