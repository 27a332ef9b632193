#include "models/gguf/gguf_tokens.h"

#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

using Json = nlohmann::json;

/// The metadata as JSON.
Json values_of(const GgufTokens& tokens) {
  Json values = Json::object();
  for (const auto& [key, value] : tokens.metadata) std::visit([&](const auto& each) { values[key] = each; }, value);
  return values;
}

GgufTokens tokens_of(const Json& file, Index rows, const Ids& ends = {258}) {
  return gguf_tokens(TextEncoder(file.dump(), "t.json"), "t.json", rows, ends);
}

/// A file with two merges and two added tokens.
Json small_file() {
  Json file = made_tokenizer({{"a", " "}, {"a ", "b"}});
  file["added_tokens"] = {added_token("<|endoftext|>", 258), added_token("<tool>", 259)};
  file["added_tokens"][1]["special"] = false;
  return file;
}

TEST(GgufTokens, HaveIdsAndMergesOfTheTokenizer) {
  const GgufTokens tokens = tokens_of(small_file(), 262);
  EXPECT_TRUE(tokens.remarks.empty());
  const Json values = values_of(tokens);
  EXPECT_EQ(values.size(), 8U);
  EXPECT_EQ(values["tokenizer.ggml.model"], "gpt2");
  EXPECT_EQ(values["tokenizer.ggml.pre"], "gpt-2");
  EXPECT_EQ(values["tokenizer.ggml.merges"], (Json{"a \xC4\xA0", "a\xC4\xA0 b"}));
  EXPECT_EQ(values["tokenizer.ggml.bos_token_id"], 258);
  EXPECT_EQ(values["tokenizer.ggml.eos_token_id"], 258);
  EXPECT_EQ(values["tokenizer.ggml.add_bos_token"], false);
  const Json& texts = values["tokenizer.ggml.tokens"];
  ASSERT_EQ(texts.size(), 262U);
  EXPECT_EQ(texts['a'], "a");
  EXPECT_EQ(texts[' '], "\xC4\xA0");
  EXPECT_EQ(texts[257],
            "a\xC4\xA0"
            "b");
  EXPECT_EQ(texts[258], "<|endoftext|>");
  EXPECT_EQ(texts[261], "[PAD261]");
  const Json& kinds = values["tokenizer.ggml.token_type"];
  ASSERT_EQ(kinds.size(), 262U);
  EXPECT_EQ(kinds[0], 1);
  EXPECT_EQ(kinds[257], 1);
  EXPECT_EQ(kinds[258], 3);
  EXPECT_EQ(kinds[259], 4);
  EXPECT_EQ(kinds[260], 5);
  EXPECT_THROW(tokens_of(small_file(), 259), Error);
}

TEST(GgufTokens, BytesAreTokensWithoutMerges) {
  const Json values = values_of(gguf_tokens({}, "", 258, {0}));
  EXPECT_EQ(values["tokenizer.ggml.model"], "gpt2");
  EXPECT_EQ(values["tokenizer.ggml.pre"], "gpt-2");
  EXPECT_EQ(values["tokenizer.ggml.merges"], Json::array());
  EXPECT_EQ(values["tokenizer.ggml.eos_token_id"], 0);
  const Json& texts = values["tokenizer.ggml.tokens"];
  ASSERT_EQ(texts.size(), 258U);
  EXPECT_EQ(texts[0], "\xC4\x80");  // U+0100
  EXPECT_EQ(texts['~'], "~");
  EXPECT_EQ(texts[0xFF], "\xC3\xBF");  // U+00FF
  EXPECT_EQ(texts[257], "[PAD257]");
  EXPECT_EQ(values["tokenizer.ggml.token_type"][255], 1);
  EXPECT_EQ(values["tokenizer.ggml.token_type"][256], 5);
}

/// The name for a "pre_tokenizer"; "none" if there is no name, and then a remark.
std::string name_for(const Json& pre_tokenizer, bool ignore_merges = false) {
  Json file = small_file();
  file["pre_tokenizer"] = pre_tokenizer;
  file["model"]["ignore_merges"] = ignore_merges;
  const GgufTokens tokens = tokens_of(file, 260);
  const Json values = values_of(tokens);
  const bool named = values.contains("tokenizer.ggml.pre");
  EXPECT_EQ(tokens.remarks.empty(), named);
  if (!named) {
    EXPECT_EQ(tokens.remarks[0].find("t.json: pre_tokenizer: llama.cpp has no name"), 0U) << tokens.remarks[0];
  }
  return named ? values["tokenizer.ggml.pre"] : Json("none");
}

TEST(GgufTokens, NameTheWayInWhichWordsAreMade) {
  const auto byte_level = [](bool words, bool space = false) {
    return Json{{"type", "ByteLevel"}, {"add_prefix_space", space}, {"trim_offsets", true}, {"use_regex", words}};
  };
  const auto split = [](const std::string& regex, const std::string& behavior = "Isolated", bool invert = false) {
    return Json{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}, {"invert", invert}};
  };
  const auto sequence = [](const Json& one, const Json& other) {
    return Json{{"type", "Sequence"}, {"pretokenizers", {one, other}}};
  };
  // The texts of the files of Llama 3 and Qwen2.
  const std::string rest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string start = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  const std::string llama3 = start + "{1,3}" + rest;
  const Json digits{{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(name_for(byte_level(true)), "gpt-2");
  EXPECT_EQ(name_for(sequence(split(llama3), byte_level(false)), true), "llama-bpe");
  EXPECT_EQ(name_for(sequence(split(llama3), byte_level(false))), "smaug-bpe");
  EXPECT_EQ(name_for(sequence(split(start + rest), byte_level(false))), "qwen2");
  EXPECT_EQ(name_for(sequence(digits, byte_level(true))), "smollm");
  // What differs in one place has no name.
  EXPECT_EQ(name_for(byte_level(true), true), "none");
  EXPECT_EQ(name_for(byte_level(true, true)), "none");
  EXPECT_EQ(name_for(byte_level(false)), "none");
  EXPECT_EQ(name_for(sequence(split(start + rest), byte_level(true))), "none");
  EXPECT_EQ(name_for(sequence(split(start + rest), byte_level(false)), true), "none");
  EXPECT_EQ(name_for(sequence(split(llama3, "MergedWithNext"), byte_level(false))), "none");
  EXPECT_EQ(name_for(sequence(split(llama3, "Isolated", true), byte_level(false))), "none");
}

TEST(GgufTokens, SayWhatLlamaCppDoesInAnotherWay) {
  Json file = small_file();
  file["normalizer"] = {{"type", "NFC"}};
  file["added_tokens"][1]["rstrip"] = true;
  const GgufTokens tokens = tokens_of(file, 260, {260, 9999});
  ASSERT_EQ(tokens.remarks.size(), 3U);
  EXPECT_EQ(tokens.remarks[0].find("t.json: normalizer: llama.cpp has none"), 0U) << tokens.remarks[0];
  EXPECT_EQ(tokens.remarks[1].find("t.json: added token <tool>: "), 0U) << tokens.remarks[1];
  EXPECT_EQ(tokens.remarks[2].find("t.json: no token ends a text, nor does eos_token_id"), 0U) << tokens.remarks[2];
  EXPECT_FALSE(values_of(tokens).contains("tokenizer.ggml.eos_token_id"));
}

/// The token that a template sets before texts is the first one.
TEST(GgufTokens, TextsStartAsTheTemplateSays) {
  Json file = small_file();
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json start{{"SpecialToken", {{"id", "<tool>"}, {"type_id", 0}}}};
  file["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {start, text}},
      {"pair", {start, text}},
      {"special_tokens", {{"<tool>", {{"id", "<tool>"}, {"ids", {259}}, {"tokens", {"<tool>"}}}}}}};
  const Json values = values_of(tokens_of(file, 260));
  EXPECT_EQ(values["tokenizer.ggml.bos_token_id"], 259);
  EXPECT_EQ(values["tokenizer.ggml.eos_token_id"], 258);
  // Of several the first that the model has.
  EXPECT_EQ(values_of(tokens_of(file, 260, {999, 259, 258}))["tokenizer.ggml.eos_token_id"], 259);
}

/// Here the last of two equal pairs counts, in llama.cpp the first.
TEST(GgufTokens, AMergeThatIsListedTwiceIsWrittenOnce) {
  Json file = made_tokenizer({{"a", "b"}, {"c", "d"}, {"a", "b"}});
  EXPECT_EQ(values_of(tokens_of(file, 258))["tokenizer.ggml.merges"], (Json{"c d", "a b"}));
}

}  // namespace
}  // namespace shardline
