#include "runtime/base/lists.h"

#include <gtest/gtest.h>

namespace shardline {
namespace {

using Strings = std::vector<std::string>;

TEST(Lists, SplitsIntoTrimmedParts) {
  EXPECT_EQ(split("a, b ,,c", ','), (Strings{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ':'), (Strings{""}));
  EXPECT_EQ(split("a:", ':'), (Strings{"a", ""}));
  EXPECT_EQ(trimmed(" \t a b\n"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
}

TEST(Lists, CutsAtTheFirstSeparator) {
  using Cut = std::pair<std::string, std::optional<std::string>>;
  EXPECT_EQ(cut_once(" X=4 : 2:3 ", ':'), (Cut{"X=4", "2:3"}));
  EXPECT_EQ(cut_once(" X ", ':'), (Cut{"X", std::nullopt}));
  EXPECT_EQ(cut_once("X:", ':'), (Cut{"X", ""}));
  EXPECT_EQ(cut_once("", ':'), (Cut{"", std::nullopt}));
}

TEST(Lists, NamedValuesKeepWhatWasWritten) {
  const std::vector<NamedValue> values = named_values("X=2, Y = a=b ,Z,=3,W=");
  ASSERT_EQ(values.size(), 5U);
  const Strings items{"X=2", "Y = a=b", "Z", "=3", "W="};
  const Strings names{"X", "Y", "Z", "", "W"};
  const std::vector<std::optional<std::string>> given{"2", "a=b", std::nullopt, "3", ""};
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].item, items[i]);
    EXPECT_EQ(values[i].name, names[i]);
    EXPECT_EQ(values[i].value, given[i]);
  }
}

}  // namespace
}  // namespace shardline
