#include "models/tokens/tokenizer.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

using Json = nlohmann::json;

TEST(Tokenizer, MergesByRankWithinWords) {
  // 256 "th", 257 " th", 258 "the", 259 " the"
  Tokenizer tokenizer = tokenizer_of(made_tokenizer({{"t", "h"}, {" ", "th"}, {"th", "e"}, {" th", "e"}}));
  EXPECT_EQ(tokenizer.vocabulary_size(), 260);
  EXPECT_EQ(tokenizer.encode("the the"), (Ids{258, 259}));
  EXPECT_EQ(tokenizer.encode("thx th"), (Ids{256, 'x', 257}));
  // Two spaces: the first is a word of its own.
  EXPECT_EQ(tokenizer.encode("  the"), (Ids{' ', 259}));
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  EXPECT_EQ(tokenizer.decode({258, 259, 'x'}), "the thex");
}

TEST(Tokenizer, ReadsMergesInBothForms) {
  Json file = made_tokenizer({{"a", "b"}, {"ab", "c"}});
  const Ids expected{257, 256};
  EXPECT_EQ(tokenizer_of(file).encode("abcab"), expected);
  file["model"]["merges"] = Json::array({Json::array({"a", "b"}), Json::array({"ab", "c"})});
  EXPECT_EQ(tokenizer_of(file).encode("abcab"), expected);
}

TEST(Tokenizer, MergesAreIgnoredForWordsThatAreTokens) {
  Json file = made_tokenizer({{"a", "b"}, {"b", "c"}, {"a", "bc"}});
  EXPECT_EQ(tokenizer_of(file).encode("abc"), (Ids{256, 'c'}));  // no merges lead to "abc"
  file["model"]["ignore_merges"] = true;
  EXPECT_EQ(tokenizer_of(file).encode("abc"), (Ids{258}));
  EXPECT_EQ(tokenizer_of(file).encode("abcd"), (Ids{256, 'c', 'd'}));
}

TEST(Tokenizer, FindsAddedTokensAndTellsTheirIds) {
  Json file = made_tokenizer({{"<", "e"}});
  file["added_tokens"] = {added_token("<e>", 257), added_token("<e>>", 258), added_token("<e", 256)};
  Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.vocabulary_size(), 259);
  EXPECT_EQ(tokenizer.encode("a<e>>b<e><e"), (Ids{'a', 258, 'b', 257, 256}));
  EXPECT_EQ(tokenizer.added_token("<e>"), 257);
  EXPECT_EQ(tokenizer.added_token("<x>"), std::nullopt);
  EXPECT_EQ(tokenizer.decode({'a', 258, 256}), "a<e>><e");
}

TEST(Tokenizer, SetsSpecialTokensOnRequest) {
  Json file = made_tokenizer();
  file["added_tokens"] = {added_token("<s>", 256), added_token("</s>", 257)};
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const auto special = [](const char* id) { return Json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}}; };
  const auto entry = [](const char* id, int number) { return Json{{"id", id}, {"ids", {number}}, {"tokens", {id}}}; };
  const Json processor{{"type", "TemplateProcessing"},
                       {"single", {special("<s>"), text, special("</s>"), special("</s>")}},
                       {"pair", Json::array()},
                       {"special_tokens", {{"<s>", entry("<s>", 256)}, {"</s>", entry("</s>", 257)}}}};
  file["post_processor"] = {{"type", "Sequence"}, {"processors", {file["decoder"], processor}}};
  Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.encode("x"), (Ids{'x'}));
  EXPECT_EQ(tokenizer.encode_with_special_tokens("x"), (Ids{256, 'x', 257, 257}));
  EXPECT_EQ(tokenizer.encode("x"), (Ids{'x'}));
}

TEST(Tokenizer, AddsASpaceBeforeEachPiece) {
  Json file = made_tokenizer();
  file["added_tokens"] = Json::array({added_token("|", '|')});
  file["pre_tokenizer"]["add_prefix_space"] = true;
  Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.encode("a|b| c"), (Ids{' ', 'a', '|', ' ', 'b', '|', ' ', 'c'}));
  EXPECT_EQ(tokenizer.encode(""), Ids{});
}

TEST(Tokenizer, NormalizesToFormC) {
  Json file = made_tokenizer();
  const Ids composed{0xC3, 0xA9};
  EXPECT_EQ(tokenizer_of(file).encode("e\u0301"), (Ids{'e', 0xCC, 0x81}));
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array({Json{{"type", "NFC"}}})}};
  EXPECT_EQ(tokenizer_of(file).encode("e\u0301"), composed);
  file["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(tokenizer_of(file).encode("e\u0301"), composed);
}

TEST(Tokenizer, NormalizedAddedTokensAreFoundAfterNormalization) {
  Json file = made_tokenizer();
  file["normalizer"] = {{"type", "NFC"}};
  file["added_tokens"] = {added_token("e\u0301", 256), added_token("\u00e9!", 257), added_token("u\u0308", 258)};
  file["added_tokens"][1]["normalized"] = true;
  file["added_tokens"][2]["normalized"] = true;
  Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.encode("u\u0308\u00fc"), (Ids{258, 258}));
  EXPECT_EQ(tokenizer.encode("e\u0301"), (Ids{256}));        // as it is written
  EXPECT_EQ(tokenizer.encode("\u00e9!"), (Ids{257}));        // in form C
  EXPECT_EQ(tokenizer.encode("e\u0301!"), (Ids{256, '!'}));  // tokens that are not normalized come first
}

TEST(Tokenizer, BrokenBytesAreReplacementCharacters) {
  Tokenizer tokenizer = tokenizer_of(made_tokenizer());
  const Ids once{'a', 0xEF, 0xBF, 0xBD, 'b'};
  EXPECT_EQ(tokenizer.encode("a\xFF"
                             "b"),
            once);
  EXPECT_EQ(tokenizer.encode("a\xE2\x82"
                             "b"),
            once);  // the start of a euro sign
  EXPECT_EQ(tokenizer.encode("a\xC0\x80"
                             "b"),
            (Ids{'a', 0xEF, 0xBF, 0xBD, 0xEF, 0xBF, 0xBD, 'b'}));
}

TEST(Tokenizer, DecodesWhatItEncoded) {
  Json file = made_tokenizer({{"t", "h"}, {"\xD0", "\xB0"}, {" ", " "}, {"\xE4", "\xBD"}, {" ", "th"}});
  file["added_tokens"] = {added_token("<|end|>", 261), added_token("na\u00efve", 262)};
  Tokenizer tokenizer = tokenizer_of(file);
  for (const std::string text :
       {"the thing\r\n\t  x", "на дворе трава", "我能吞下玻璃而不伤身体。", "נָחָשׁ", "السلام عليكم", "हिन्दी में", "ไทย",
        "한국어", "👩‍👩‍👧‍👦🏳️‍🌈", "e\u0301\u00e9 <|end|>na\u00efve", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
        "\u0001\u007f\u0085\u00a0\ufeff\ufffd", "    ", "a"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  std::string every_character;
  for (const std::string& character : byte_characters()) every_character += character;
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(every_character)), every_character);
  const std::string zeros(3, '\0');
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(zeros)), zeros);
}

TEST(Tokenizer, DecodesPartsOfCharactersAsBytes) {
  EXPECT_EQ(tokenizer_of(made_tokenizer()).decode({0xE2, 0x82}), "\xE2\x82");
  // The vocabulary writes byte E9 as this character. Its id stays the byte's.
  Json file = made_tokenizer();
  file["added_tokens"] = Json::array({added_token("\u00e9", 0xE9)});
  EXPECT_EQ(tokenizer_of(file).decode({0xE9, 0xBA, 0xBB}), "\u9EBB");
}

TEST(Tokenizer, RemembersWordsWithoutMixingThemUp) {
  Tokenizer tokenizer = tokenizer_of(made_tokenizer({{"a", "b"}}));
  const auto word = [](int i) {
    std::string text;
    for (int rest = i; rest > 0; rest /= 4) text += "abc\u00e9"[rest % 4 == 3 ? 3 : rest % 4];
    return text;
  };
  // More words than the cache has places. A new tokenizer remembers none.
  std::vector<Ids> first;
  for (int i = 0; i < 100000; ++i) first.push_back(tokenizer.encode(word(i)));
  Tokenizer fresh = tokenizer_of(made_tokenizer({{"a", "b"}}));
  for (int i = 99999; i >= 0; --i) {
    ASSERT_EQ(tokenizer.encode(word(i)), first[static_cast<std::size_t>(i)]);
    ASSERT_EQ(fresh.encode(word(i)), first[static_cast<std::size_t>(i)]);
  }
  // Around the length of the longest word that is remembered, and with the byte that fills up short words.
  for (const std::string& text :
       {std::string(23, 'a'), std::string(24, 'a'), std::string(25, 'a'), std::string("a\0", 2), std::string("a"),
        std::string(3, '\0'), std::string(2, '\0')}) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(tokenizer.encode(text), Ids(text.begin(), text.end()));
  }
}

TEST(WordCache, TellsWordsWithZerosAtTheEndApart) {
  // Of so many pairs, some share a place in the cache.
  WordCache cache;
  const Ids ids{1};
  for (int i = 0; i < 1'000'000; ++i) {
    const std::string word = std::to_string(i);
    cache.keep(WordCache::key_of(word), ids);
    ASSERT_TRUE(cache.find(WordCache::key_of(word + '\0')).empty()) << word;
    ASSERT_EQ(cache.find(WordCache::key_of(word)).size(), 1);
  }
}

}  // namespace
}  // namespace shardline
