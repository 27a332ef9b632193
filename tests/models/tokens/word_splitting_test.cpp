// What cuts text before it is encoded: patterns, splits, added tokens; and UTF-8, form C.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "models/tokens/added_tokens.h"
#include "models/tokens/nfc.h"
#include "models/tokens/offset_map.h"
#include "models/tokens/pattern_syntax.h"
#include "models/tokens/pre_tokenizer.h"
#include "models/tokens/utf8.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

using Words = std::vector<std::string>;

Words words_of(PreTokenizer& pre_tokenizer, const std::string& text) {
  Words words;
  pre_tokenizer.words(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

Words split(const char* pattern, const std::string& text, SplitBehavior behavior = SplitBehavior::isolated,
            bool invert = false) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add({Pattern::expression(pattern), behavior, invert});
  return words_of(pre_tokenizer, text);
}

TEST(Splits, FollowTheirBehavior) {
  const std::string text = "-the-final--countdown";
  EXPECT_EQ(split("-", text), (Words{"-", "the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(split("-", text, SplitBehavior::removed), (Words{"the", "final", "countdown"}));
  EXPECT_EQ(split("-", text, SplitBehavior::merged_with_previous), (Words{"-", "the-", "final-", "-", "countdown"}));
  EXPECT_EQ(split("-", text, SplitBehavior::merged_with_next), (Words{"-the", "-final", "-", "-countdown"}));
  EXPECT_EQ(split("-", "a-", SplitBehavior::merged_with_next), (Words{"a", "-"}));
  EXPECT_EQ(split("-", text, SplitBehavior::contiguous), (Words{"-", "the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(split("-", text, SplitBehavior::removed, true), (Words{"-", "-", "-", "-"}));
  EXPECT_EQ(split("-", "a--b", SplitBehavior::merged_with_next, true), (Words{"a-", "-", "b"}));
  EXPECT_EQ(split("-", "a--b", SplitBehavior::merged_with_previous, true), (Words{"a", "-", "-b"}));
  EXPECT_EQ(split("x", text), Words{text});
  EXPECT_EQ(split("x", text, SplitBehavior::removed, true), Words{});
}

TEST(Splits, OfPatternsThatMatchNothing) {
  EXPECT_EQ(split("x*", "axxb"), (Words{"a", "xx", "b"}));
  EXPECT_EQ(split("(?=b)", "abcb"), (Words{"a", "bc", "b"}));
  EXPECT_EQ(split("x*", "\u00e9\u6f22"), (Words{"\u00e9", "\u6f22"}));
}

TEST(Splits, SeeOnlyTheirPiece) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add({Pattern::expression("[0-9]")});
  pre_tokenizer.add_prefix_space();
  pre_tokenizer.add({Pattern::expression(R"(\s+(?!\S)|\s*\p{L}+)")});
  EXPECT_EQ(words_of(pre_tokenizer, "ab  1c"), (Words{" ab", "  ", " 1", " c"}));
}

TEST(Splits, OfLiteralText) {
  PreTokenizer pre_tokenizer;
  pre_tokenizer.add({Pattern::literal(".*"), SplitBehavior::removed});
  EXPECT_EQ(words_of(pre_tokenizer, "a.*b.c"), (Words{"a", "b.c"}));
}

TEST(Patterns, MeanWhatOnigurumaMeans) {
  // U+180E was white space in old Unicode, U+0085 always was.
  EXPECT_EQ(split(R"(\s)", "a\u0085b\u180ec\u3000"), (Words{"a", "\u0085", "b\u180ec", "\u3000"}));
  EXPECT_EQ(split(R"([^\S\n]+)", "a \n b"), (Words{"a", " ", "\n", " ", "b"}));
  EXPECT_EQ(split(R"(\v)", "a\vb\nc"), (Words{"a", "\v", "b\nc"}));
  EXPECT_EQ(split(R"(\d)", "1\u0663x"), (Words{"1", "\u0663", "x"}));
  EXPECT_EQ(split(R"(^a|b$)", "ab\nab\na"), (Words{"a", "b", "\n", "a", "b", "\n", "a"}));
  EXPECT_EQ(split(R"(.+)", "a\rb\nc"), (Words{"a\rb", "\n", "c"}));
  EXPECT_EQ(split(R"((?i:'s|k))", "'S'\u017f\u212a"), (Words{"'S", "'\u017f", "\u212a"}));
  // "ー" is used with several scripts; of Katakana it is not.
  EXPECT_EQ(split(R"(\p{Katakana}+)", "アー"), (Words{"ア", "ー"}));
  EXPECT_EQ(split(R"(\P{^Lu}|\p{^L}|\P{L})", "aB1"), (Words{"a", "B", "1"}));
  EXPECT_EQ(split(R"(a{2}|b{,|\x41|\x{1F600}|\u4E00)", "aaab{,A😀一"), (Words{"aa", "a", "b{,", "A", "😀", "一"}));
}

TEST(Patterns, RefuseWhatMayDiffer) {
  for (const char* pattern :
       {"\\b",    "\\w",     "\\h",     "\\1",         "\\G",    "\\pL",  "\\x",     "\\xE9",
        "\\u12",  "\\",      "[a[b]]",  "[[:alpha:]]", "[a&&b]", "[]a]",  "[a",      "(?m)",
        "a(?i)b", "(?<n>a)", "(*FAIL)", "a{,3}",       "a{2}+",  "a{2}?", "a{2,3}+", "\\\u00e9"}) {
    EXPECT_THROW(pcre2_pattern(pattern), UsageError) << pattern;
  }
}

TEST(Patterns, OfLongTexts) {
  const std::string letters(1 << 18, 'a');
  EXPECT_EQ(split(R"(\p{L}+)", letters), Words{letters});
  EXPECT_EQ(split(R"((?:a|b)+)", letters), Words{letters});  // more than the stack of the machine code holds
}

/// "text" and "[id]", one after the other.
std::string cut(AddedTokens& tokens, const std::string& text) {
  std::string result;
  tokens.split(
      text, [&](std::string_view part) { result += part; },
      [&](std::int32_t id, std::size_t) { result += "[" + std::to_string(id) + "]"; });
  return result;
}

TEST(AddedTokenSearch, LeftmostThenLongest) {
  AddedTokens tokens;
  tokens.add({"ab", 1});
  tokens.add({"abcd", 2});
  tokens.add({"bcde", 3});
  EXPECT_EQ(cut(tokens, "xabcde"), "x[2]e");
  EXPECT_EQ(cut(tokens, "abcbcdeab"), "[1]c[3][1]");
  EXPECT_EQ(cut(tokens, "abc"), "[1]c");
  EXPECT_EQ(cut(tokens, ""), "");
}

TEST(AddedTokenSearch, StripsWhiteSpace) {
  AddedTokens tokens;
  tokens.add({.content = "<l>", .id = 1, .left_strip = true});
  tokens.add({.content = "<r>", .id = 2, .right_strip = true});
  EXPECT_EQ(cut(tokens, "a \u00a0<l> b"), "a[1] b");
  EXPECT_EQ(cut(tokens, "a <r>\u3000\n b"), "a [2]b");
  EXPECT_EQ(cut(tokens, "<r> <l>"), "[2][1]");
}

TEST(AddedTokenSearch, SingleWords) {
  AddedTokens tokens;
  tokens.add({.content = "ab", .id = 1, .single_word = true});
  EXPECT_EQ(cut(tokens, "ab, ab cab abc \u00e9ab ab_ ab-ab"), "[1], [1] cab abc \u00e9ab ab_ [1]-[1]");
}

TEST(Utf8, EachErrorIsOneReplacementCharacter) {
  const std::string r = "\uFFFD";
  const auto valid = [](const std::string& text) {
    std::string repaired;
    return std::string(valid_utf8(text, repaired));
  };
  const std::string legal = "a\u00e9\u6f22\U0001F600\uFFFD\uD7FF\uE000\U0010FFFF";
  EXPECT_EQ(valid(legal), legal);
  EXPECT_EQ(valid("a\x80z"), "a" + r + "z");
  EXPECT_EQ(valid("\xF0\x9F\x98"), r);  // cut off
  EXPECT_EQ(valid("\xF0\x9F\x98z"), r + "z");
  EXPECT_EQ(valid("\xED\xA0\x80"), r + r + r);          // a surrogate
  EXPECT_EQ(valid("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(valid("\xE0\x80\x80"), r + r + r);          // too long
  EXPECT_EQ(valid("\xF8\x88\x80\x80\x80"), r + r + r + r + r);
  // The example of the Unicode standard, table 3-11.
  EXPECT_EQ(valid("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
  const std::string long_text(1000, 'x');
  EXPECT_EQ(valid(long_text + "\xFF" + long_text), long_text + r + long_text);
}

TEST(Utf8, PartsOfCharactersWaitForTheRest) {
  const auto whole = [](std::string_view text) { return without_part_of_character(text); };
  EXPECT_EQ(whole(""), 0U);
  EXPECT_EQ(whole("ab"), 2U);
  EXPECT_EQ(whole("a\xC3"), 1U);
  EXPECT_EQ(whole("a\xC3\xA9"), 3U);
  EXPECT_EQ(whole("a\xE4\xB8"), 1U);
  EXPECT_EQ(whole("a\xF0\x9F\x98"), 1U);
  EXPECT_EQ(whole("a\xF0\x9F\x98\x80"), 5U);
  EXPECT_EQ(whole("a\x80\x80"), 3U);  // no character has them
  EXPECT_EQ(whole("a\xE4"
                  "a"),
            3U);                     // an error before
  EXPECT_EQ(whole("\xE0\x80"), 2U);  // cannot go on
  EXPECT_EQ(whole("\x80\x80\x80\x80"), 4U);
}

TEST(OffsetMap, GivesPlacesOutsideRewrittenParts) {
  OffsetMap map;
  EXPECT_EQ(map.original(7), 7U);
  map.add({.before = {2, 4}, .after = {2, 7}});
  map.add({.before = {6, 9}, .after = {9, 10}});
  const std::vector<std::optional<std::size_t>> places{
      0, 1, 2, std::nullopt, std::nullopt, std::nullopt, std::nullopt, 4, 5, 6, 9, 10};
  for (std::size_t after = 0; after < places.size(); ++after) EXPECT_EQ(map.original(after), places[after]) << after;
}

TEST(FormC, OfKnownTexts) {
  Nfc nfc;
  const auto form_c = [&](std::string_view text) { return std::string(nfc.normalized(text)); };
  EXPECT_EQ(form_c("plain \u00e9\u02ff"), "plain \u00e9\u02ff");
  EXPECT_EQ(form_c("e\u0301e\u0301 x"), "\u00e9\u00e9 x");
  EXPECT_EQ(form_c("q\u0307\u0323"), "q\u0323\u0307");  // marks in their order
  EXPECT_EQ(form_c("\u1100\u1161\u11a8"), "\uac01");    // Hangul
  EXPECT_EQ(form_c("\u212b\u2126"), "\u00c5\u03a9");    // signs that are letters
  EXPECT_EQ(form_c("\u0958"), "\u0915\u093c");          // excluded from composition
  EXPECT_EQ(form_c("<\u0338 =\u0338"), "\u226e \u2260");
  EXPECT_EQ(form_c("\u0301a"), "\u0301a");
  EXPECT_EQ(form_c(std::string("\0e\u0301\0", 5)), std::string("\0\u00e9\0", 4));
}

}  // namespace
}  // namespace shardline
