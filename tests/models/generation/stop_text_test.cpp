#include "models/generation/stop_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

using Texts = std::vector<std::string>;

/// What is left of a text, and which stop string ended it, by looking for each string in the whole text.
struct Stopped {
  std::string text;
  std::optional<std::size_t> by = {};

  bool operator==(const Stopped&) const = default;
};

Stopped expected(const std::string& text, const Texts& stops) {
  Stopped result{text};
  std::size_t first_end = std::string::npos;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const std::size_t begin = text.find(stops[i]);
    if (begin == std::string::npos) continue;
    const std::size_t end = begin + stops[i].size();
    if (end > first_end || (end == first_end && begin >= result.text.size())) continue;
    first_end = end;
    result = {text.substr(0, begin), i};
  }
  return result;
}

bool is_whole_utf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if ((first & 0xC0) == 0x80 || at + length > text.size()) return false;
    at += length;
  }
  return true;
}

/// What `pieces` make, one after the other. Every part that is shown must hold whole characters.
Stopped watched(const Texts& pieces, const Texts& stops) {
  StopText stop(stops);
  std::string text;
  for (const std::string& piece : pieces) {
    const bool over = stop.stopped_by().has_value();
    const std::string shown = stop.add(piece);
    EXPECT_TRUE(is_whole_utf8(shown)) << testing::PrintToString(pieces);
    EXPECT_TRUE(!over || shown.empty()) << shown;
    text += shown;
  }
  const std::string rest = stop.end();
  EXPECT_TRUE(!stop.stopped_by() || rest.empty()) << rest;
  EXPECT_EQ(stop.end(), "");
  return {text + rest, stop.stopped_by()};
}

/// Cuts the text at every two places, and at all.
void expect_at_every_split(const std::string& text, const Texts& stops) {
  const Stopped wanted = expected(text, stops);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      const Texts pieces{text.substr(0, first), text.substr(first, second - first), text.substr(second)};
      EXPECT_EQ(watched(pieces, stops), wanted) << testing::PrintToString(pieces);
    }
  }
  Texts bytes;
  for (const char byte : text) bytes.emplace_back(1, byte);
  EXPECT_EQ(watched(bytes, stops), wanted);
}

TEST(StopText, EndsBeforeAStopStringAtEverySplit) {
  EXPECT_EQ(expected("one STOP two", {"STOP"}), (Stopped{"one ", 0}));
  expect_at_every_split("one STOP two STOP", {"STOP"});
  expect_at_every_split("STOP", {"STOP"});
  expect_at_every_split("one STO", {"STOP"});
  expect_at_every_split("no such thing", {"STOP", "\n\n"});
  expect_at_every_split("a\nb\n\nc", {"STOP", "\n\n"});
  expect_at_every_split("", {"STOP"});
  expect_at_every_split("any text", {});
  expect_at_every_split("anything at all", {"a"});
}

TEST(StopText, FindsAStopStringBehindItsOwnStart) {
  expect_at_every_split("SSTOSTOPP", {"STOP"});
  expect_at_every_split("aaab", {"aab"});
  expect_at_every_split("abababac", {"ababac"});
}

TEST(StopText, OfSeveralTheFirstToEndCounts) {
  EXPECT_EQ(expected("abcdef", {"bcde", "cd"}), (Stopped{"ab", 1}));
  expect_at_every_split("xabcdef", {"abcdef", "cd"});
  expect_at_every_split("xabcdef", {"bcd", "cd", "d"});
  expect_at_every_split("xabcdef", {"d", "cd", "bcd"});
  expect_at_every_split("xabcxef", {"abcdef", "bcx"});
  expect_at_every_split("two equal ones", {"eq", "eq"});
}

TEST(StopText, ShowsWholeCharactersAtEverySplit) {
  const std::string text = "aé日\U0001F600b\U0001F601é";  // characters of 1, 2, 3 and 4 bytes
  expect_at_every_split(text, {});
  expect_at_every_split(text, {"日"});
  expect_at_every_split(text, {"\U0001F601"});  // shares its first three bytes with another
  expect_at_every_split(text, {"é日\U0001F601", "é\n"});
}

TEST(StopText, KeepsBytesThatAreNoUtf8) {
  StopText stop({"END"});
  EXPECT_EQ(stop.add("a\xC3"), "a");
  EXPECT_EQ(stop.add(".\xFF."), "\xC3.\xFF.");
  EXPECT_EQ(stop.add("\xE6\x97"), "");
  EXPECT_EQ(stop.add("END"), "\xE6\x97");
  EXPECT_EQ(stop.stopped_by(), 0U);
  StopText part({});
  EXPECT_EQ(part.add("\xE6\x97"), "");
  EXPECT_EQ(part.end(), "\xE6\x97");
  StopText within({"\xA9x"});  // begins within a character
  EXPECT_EQ(within.add("a\xC3\xA9"), "a");
  EXPECT_EQ(within.add("y"), "\xC3\xA9y");
}

TEST(StopText, ShowsTextAsSoonAsItMay) {
  StopText stop({"<end>", "\n\n"});
  EXPECT_EQ(stop.add("one"), "one");
  EXPECT_EQ(stop.add(" <"), " ");
  EXPECT_EQ(stop.add("en"), "");
  EXPECT_EQ(stop.add("t\n"), "<ent");
  EXPECT_EQ(stop.add("x"), "\nx");
  EXPECT_EQ(stop.add("y<e<e"), "y<e");
  EXPECT_EQ(stop.add("nd"), "");
  EXPECT_FALSE(stop.stopped_by());
  EXPECT_EQ(stop.add(">z"), "");
  EXPECT_EQ(stop.stopped_by(), 0U);
  EXPECT_EQ(stop.add("more"), "");
  EXPECT_EQ(stop.end(), "");
}

TEST(StopText, RefusesAnEmptyString) {
  EXPECT_EQ(usage_error_of([] { StopText({"a", ""}); }), "a stop string is empty; it must have at least one byte");
}

}  // namespace
}  // namespace shardline
