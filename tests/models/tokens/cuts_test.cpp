// Tokenizer::encode_start() against encode() of the whole text.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "models/tokens/tokenizer.h"
#include "tests/models/tokens/cutting_tokenizers.h"

namespace shardline {
namespace {

using Json = nlohmann::json;

TEST(Cuts, BothSidesAreTheWholeText) {
  std::mt19937 random(7);
  for (const auto& [name, file] : cutting_tokenizers()) {
    Tokenizer tokenizer = tokenizer_of(file);
    ASSERT_TRUE(tokenizer.can_cut()) << name;
    std::size_t cuts = 0;
    for (int round = 0; round < 150; ++round) {
      const std::string text = random_text(random);
      const Ids whole = tokenizer.encode(text);
      for (std::size_t known = 0; known <= text.size(); ++known) {
        const auto start = tokenizer.encode_start(std::string_view(text).substr(0, known), false);
        ASSERT_LE(start.ids.size(), whole.size());
        ASSERT_TRUE(std::equal(start.ids.begin(), start.ids.end(), whole.begin())) << name << ": " << text;
        ASSERT_EQ(start.ids.size(), start.cuts.empty() ? 0 : start.cuts.back().ids);
        for (const auto& cut : start.cuts) {
          ASSERT_GT(cut.bytes, 0U);
          ASSERT_LE(cut.bytes, known);
          Ids joined(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut.ids));
          const Ids rest = tokenizer.encode(std::string_view(text).substr(cut.bytes));
          joined.insert(joined.end(), rest.begin(), rest.end());
          ASSERT_EQ(joined, whole) << name << ": " << text << " at " << cut.bytes << " of " << known;
        }
        cuts += start.cuts.size();
      }
      const auto all = tokenizer.encode_start(text, true);
      ASSERT_EQ(all.ids, whole) << name << ": " << text;
      if (!text.empty()) {
        ASSERT_EQ(all.cuts.back().bytes, text.size()) << name;
      }
    }
    EXPECT_GT(cuts, 1000U) << name;
  }
}

TEST(Cuts, AWordIsLongerThanWhatIsKnown) {
  Tokenizer tokenizer = tokenizer_of(cutting_tokenizer({}, false));
  EXPECT_TRUE(tokenizer.encode_start("thethe", false).cuts.empty());
  EXPECT_EQ(tokenizer.encode_start("thethe", true).cuts.size(), 1U);
  // More white space, or a letter, would change what the spaces belong to. Four bytes may start an added token, and
  // four before them another.
  const auto start = tokenizer.encode_start("the the         ", false);
  ASSERT_EQ(start.cuts.size(), 2U);
  EXPECT_EQ(start.cuts[0].bytes, 3U);
  EXPECT_EQ(start.cuts[1].bytes, 7U);
}

TEST(Cuts, AreNotMadeWhereWordsDependOnWhatIsBefore) {
  const auto can_cut = [](const Json& file) { return tokenizer_of(file).can_cut(); };
  EXPECT_FALSE(can_cut(cutting_tokenizer({split_by(R"((?<=a)b)")}, false)));
  EXPECT_FALSE(can_cut(cutting_tokenizer({split_by(R"((?<!a)b)")}, false)));
  EXPECT_FALSE(can_cut(cutting_tokenizer({split_by(R"(^a)")}, false)));
  EXPECT_FALSE(can_cut(cutting_tokenizer({split_by(R"(\\^a)")}, false)));
  EXPECT_FALSE(can_cut(cutting_tokenizer({split_by(R"(\[^a)")}, false)));
  EXPECT_TRUE(can_cut(cutting_tokenizer({split_by(R"([^a\]^]\^)")}, false)));
  EXPECT_TRUE(can_cut(cutting_tokenizer({split_by("a"), split_by("^b")}, false)));
  for (const char* behavior : {"MergedWithPrevious", "MergedWithNext", "Contiguous"}) {
    EXPECT_FALSE(can_cut(cutting_tokenizer({split_by("a", behavior)}, false)));
  }
  Json file = made_tokenizer();
  EXPECT_TRUE(can_cut(file));
  file["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_FALSE(can_cut(file));
  file["pre_tokenizer"]["add_prefix_space"] = false;
  file["pre_tokenizer"]["use_regex"] = false;
  EXPECT_FALSE(can_cut(file));
  for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
    for (const bool normalized : {false, true}) {
      Json other = made_tokenizer();
      other["added_tokens"] = {added_token("<e>", 256)};
      other["added_tokens"][0][flag] = true;
      other["added_tokens"][0]["normalized"] = normalized;
      EXPECT_FALSE(can_cut(other)) << flag;
    }
  }
}

}  // namespace
}  // namespace shardline
