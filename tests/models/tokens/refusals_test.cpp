// Every tokenizer.json that is refused: in one line, with the file's name and that of the thing.

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/check.h"
#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {
namespace {

using Json = nlohmann::json;

std::string message_of(const std::string& text) {
  try {
    Tokenizer(text, "t.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

/// The message if the value at `place` is replaced.
std::string message_with(const char* place, const Json& value) {
  Json file = made_tokenizer({{"a", "b"}});
  file[Json::json_pointer(place)] = value;
  return message_of(file.dump());
}

std::string message_without(const char* section, const char* key) {
  Json file = made_tokenizer({{"a", "b"}});
  file[Json::json_pointer(section)].erase(key);
  return message_of(file.dump());
}

Json split_with(const std::string& key, const Json& value) {
  Json split{{"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Isolated"}, {"invert", false}};
  split[key] = value;
  return split;
}

TEST(TokenizerRefusals, TheMadeFileIsAccepted) { EXPECT_EQ(message_of(made_tokenizer().dump()), "accepted"); }

TEST(TokenizerRefusals, BrokenFiles) {
  EXPECT_TRUE(message_of("{").starts_with("t.json: the tokenizer is not JSON: "));
  EXPECT_EQ(message_of("[]"), "t.json: the tokenizer must be a JSON object, this is array");
  EXPECT_EQ(message_of("{}"), "t.json: \"version\" is missing");
  EXPECT_EQ(message_without("", "model"), "t.json: \"model\" is missing");
  EXPECT_EQ(message_with("/model", 3), "t.json: model: must be an object, this is number");
  EXPECT_EQ(message_with("/version", "2.0"), "t.json: version 2.0 is not implemented");
  EXPECT_EQ(message_with("/surprise", 1), "t.json: the key \"surprise\" is not implemented");
  EXPECT_EQ(message_with("/truncation", {{"max_length", 9}}), "t.json: truncation is not implemented");
  EXPECT_EQ(message_with("/padding", {{"pad_id", 9}}), "t.json: padding is not implemented");
}

TEST(TokenizerRefusals, OtherModels) {
  EXPECT_EQ(message_with("/model/type", "Unigram"), "t.json: model: Unigram is not implemented; implemented is BPE");
  EXPECT_EQ(message_with("/model/type", "WordPiece"),
            "t.json: model: WordPiece is not implemented; implemented is BPE");
  EXPECT_EQ(message_with("/model/byte_fallback", true), "t.json: model: byte_fallback is not implemented");
  EXPECT_EQ(message_with("/model/dropout", 0.1), "t.json: model: dropout is not implemented");
  EXPECT_EQ(message_with("/model/end_of_word_suffix", "</w>"), "t.json: model: end_of_word_suffix is not implemented");
  EXPECT_EQ(message_with("/model/continuing_subword_prefix", "##"),
            "t.json: model: continuing_subword_prefix is not implemented");
  EXPECT_EQ(message_with("/model/surprise", 1), "t.json: model: the key \"surprise\" is not implemented");
  EXPECT_EQ(message_without("/model/vocab", "z"),
            "t.json: model: only byte-level vocabularies are implemented: byte 122 is no token (it is written \"z\")");
}

TEST(TokenizerRefusals, HarmlessSettingsOfTheModel) {
  EXPECT_EQ(message_without("/model", "type"), "accepted");
  EXPECT_EQ(message_with("/model/dropout", 0.0), "accepted");
  EXPECT_EQ(message_with("/model/unk_token", "a"), "accepted");
  EXPECT_EQ(message_with("/model/fuse_unk", true), "accepted");
  EXPECT_EQ(message_with("/model/end_of_word_suffix", ""), "accepted");
  EXPECT_EQ(message_without("/model/vocab", "\u00ff"), "accepted");  // byte 255: no UTF-8 has it
}

TEST(TokenizerRefusals, BrokenVocabularies) {
  EXPECT_EQ(message_with("/model/vocab/new", 256), "t.json: model.vocab: two tokens have id 256");
  EXPECT_EQ(message_with("/model/vocab/new", -1),
            "t.json: model.vocab: \"new\" must be an integer from 0 to 16777215, this is -1");
  EXPECT_EQ(message_with("/model/vocab/new", 16777216),
            "t.json: model.vocab: \"new\" must be an integer from 0 to 16777215, this is 16777216");
  EXPECT_EQ(message_with("/model/vocab", Json::array()), "t.json: model.vocab: must be an object, this is array");
}

TEST(TokenizerRefusals, BrokenMerges) {
  const std::string form = R"(t.json: model: a merge must be "a b" or ["a", "b"], this is )";
  EXPECT_EQ(message_with("/model/merges/0", "ab"), form + "\"ab\"");
  EXPECT_EQ(message_with("/model/merges/0", "a b c"), form + "\"a b c\"");
  EXPECT_EQ(message_with("/model/merges/0", {"a", "b", "c"}), form + R"(["a","b","c"])");
  EXPECT_EQ(message_with("/model/merges/0", 5), form + "5");
  EXPECT_EQ(message_with("/model/merges", 5), "t.json: model: \"merges\" must be a list, this is number");
  EXPECT_EQ(message_with("/model/merges/0", "a c"), R"(t.json: model: the merge "a c" needs "ac", which is no token)");
  EXPECT_EQ(message_with("/model/merges/0", "a cd"),
            R"(t.json: model: the merge "a cd" needs "cd", which is no token)");
}

TEST(TokenizerRefusals, AddedTokens) {
  EXPECT_EQ(message_with("/added_tokens", Json::array({added_token("<s>", 258)})),
            R"(t.json: added_tokens[0]: "<s>" has id 258; by the tokens before it, it must be 257)");
  EXPECT_EQ(message_with("/added_tokens", Json::array({added_token("a", 258)})),
            R"(t.json: added_tokens[0]: "a" has id 258; by the tokens before it, it must be 97)");
  EXPECT_EQ(message_with("/added_tokens", Json::array({added_token("<s>", 257), added_token("<s>", 257)})),
            R"(t.json: added_tokens[1]: "<s>" stands twice among the added tokens)");
  EXPECT_EQ(message_with("/added_tokens", Json::array({added_token("", 257)})),
            "t.json: added_tokens[0]: \"content\" is empty");
  Json token = added_token("<s>", 257);
  token["surprise"] = true;
  EXPECT_EQ(message_with("/added_tokens", Json::array({token})),
            "t.json: added_tokens[0]: the key \"surprise\" is not implemented");
  // One id is free in the middle of the vocabulary; 257 tokens, so the next would be 257, which is taken.
  Json file = made_tokenizer({{"a", "b"}});
  file["model"]["vocab"].erase("ab");
  file["model"]["merges"].clear();
  file["model"]["vocab"]["new"] = 257;
  file["added_tokens"] = Json::array({added_token("<s>", 257)});
  EXPECT_EQ(message_of(file.dump()), R"(t.json: added_tokens[0]: "<s>" has the id of a token of the vocabulary, 257)");
}

TEST(TokenizerRefusals, Normalizers) {
  EXPECT_EQ(message_with("/normalizer", {{"type", "Lowercase"}}),
            "t.json: normalizer: Lowercase is not implemented; implemented: NFC, Sequence");
  EXPECT_EQ(message_with("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "NFKC"}}}}}),
            "t.json: normalizers[0]: NFKC is not implemented; implemented: NFC, Sequence");
}

TEST(TokenizerRefusals, PreTokenizers) {
  const Json byte_level = made_tokenizer()["decoder"];
  EXPECT_EQ(message_with("/pre_tokenizer", nullptr), "t.json: pre_tokenizer without ByteLevel is not implemented");
  EXPECT_EQ(message_with("/pre_tokenizer", split_with("invert", true)),
            "t.json: pre_tokenizer without ByteLevel is not implemented");
  EXPECT_EQ(message_with("/pre_tokenizer", {{"type", "Metaspace"}}),
            "t.json: pre_tokenizer: Metaspace is not implemented; implemented: ByteLevel, Digits, Sequence, Split");
  const Json digits{{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(message_with("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {byte_level, digits}}}),
            "t.json: pretokenizers[1]: Digits after ByteLevel is not implemented");
  EXPECT_EQ(message_with("/pre_tokenizer/surprise", 1),
            "t.json: pre_tokenizer: the key \"surprise\" is not implemented");
  EXPECT_EQ(message_with("/pre_tokenizer", split_with("behavior", "Sideways")),
            "t.json: pre_tokenizer: behavior Sideways is not implemented; implemented: Isolated, Removed, "
            "MergedWithPrevious, MergedWithNext, Contiguous");
  EXPECT_EQ(message_with("/pre_tokenizer", split_with("pattern", {{"String", ""}})),
            "t.json: pre_tokenizer.pattern: an empty pattern is not implemented");
  EXPECT_EQ(message_with("/pre_tokenizer", split_with("pattern", {{"Regex", "\\bx"}})),
            "t.json: pre_tokenizer.pattern: \"\\b\" in a pattern is not implemented");
  EXPECT_EQ(message_with("/pre_tokenizer", split_with("pattern", {{"Regex", "(a"}})),
            "t.json: pre_tokenizer.pattern: the pattern \"(a\" cannot be compiled: missing closing parenthesis");
}

TEST(TokenizerRefusals, PostProcessorsAndDecoders) {
  EXPECT_EQ(message_with("/post_processor", {{"type", "BertProcessing"}}),
            "t.json: post_processor: BertProcessing is not implemented; implemented: ByteLevel, Sequence, "
            "TemplateProcessing");
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json special{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  Json processor{{"type", "TemplateProcessing"},
                 {"single", {special, text}},
                 {"pair", Json::array()},
                 {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {999}}, {"tokens", {"<s>"}}}}}}};
  EXPECT_EQ(message_with("/post_processor", processor), "t.json: post_processor: no token has id 999");
  processor["special_tokens"]["<s>"]["ids"] = Json::array({97});
  EXPECT_EQ(message_with("/post_processor", processor), "accepted");
  EXPECT_EQ(message_with("/post_processor", {{"type", "Sequence"}, {"processors", {processor, processor}}}),
            "t.json: post_processor: two templates are not implemented");
  processor["single"] = Json::array({special});
  EXPECT_EQ(message_with("/post_processor", processor),
            "t.json: post_processor: \"single\" must have the text once, it has it 0 times");
  processor["single"] = {text, {{"Sequence", {{"id", "B"}, {"type_id", 0}}}}};
  EXPECT_EQ(message_with("/post_processor", processor),
            "t.json: single[1]: a template for one text has only the text A");
  EXPECT_EQ(message_with("/decoder", nullptr), "t.json: no decoder is not implemented; implemented: ByteLevel");
  EXPECT_EQ(message_with("/decoder", {{"type", "WordPiece"}}),
            "t.json: decoder: WordPiece is not implemented; implemented: ByteLevel");
}

TEST(TokenizerRefusals, IdsWithoutToken) {
  Json file = made_tokenizer({{"a", "b"}});
  file["model"]["vocab"]["new"] = 300;
  const Tokenizer tokenizer = tokenizer_of(file);
  for (const std::int32_t id : {-1, 299, 301}) {
    try {
      tokenizer.decode({'a', id});
      ADD_FAILURE() << id;
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "no token has id " + std::to_string(id) + "; the vocabulary has ids from 0 to 300");
    }
  }
}

}  // namespace
}  // namespace shardline
