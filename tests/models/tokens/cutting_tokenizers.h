#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/tokens/made_tokenizer.h"

namespace shardline {

inline nlohmann::json split_by(const std::string& pattern, const std::string& behavior = "Isolated",
                               bool invert = false) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", behavior}, {"invert", invert}};
}

/// A tokenizer with added tokens, one of which is looked for in normalized text, whose splits are `splits`.
inline nlohmann::json cutting_tokenizer(const std::vector<nlohmann::json>& splits, bool nfc) {
  nlohmann::json file =
      made_tokenizer({{"t", "h"}, {"th", "e"}, {" ", "the"}, {"\n", "\n"}, {" ", " "}, {"\xC3", "\xA9"}});
  nlohmann::json list = splits;
  const bool gpt2 = splits.empty();
  list.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", gpt2}});
  file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", list}};
  if (nfc) file["normalizer"] = {{"type", "NFC"}};
  const int next = static_cast<int>(file["model"]["vocab"].size());
  nlohmann::json in_normalized = added_token("\xC3\xA9<n>", next + 2);
  in_normalized["normalized"] = true;
  file["added_tokens"] = {added_token("<e>", next), added_token("<e>>\n", next + 1), in_normalized};
  return file;
}

inline constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Tokenizers whose texts can be cut, by name.
inline std::vector<std::pair<std::string, nlohmann::json>> cutting_tokenizers() {
  std::vector<std::pair<std::string, nlohmann::json>> all;
  for (const bool nfc : {false, true}) {
    const std::string form = nfc ? ", NFC" : "";
    all.emplace_back("GPT-2" + form, cutting_tokenizer({}, nfc));
    all.emplace_back("Llama 3" + form, cutting_tokenizer({split_by(kLlama3)}, nfc));
    all.emplace_back("only matches" + form, cutting_tokenizer({split_by(kLlama3, "Removed", true)}, nfc));
    all.emplace_back("lines, then words" + form,
                     cutting_tokenizer({split_by("[\r\n]"), split_by(R"(\s?\p{L}+)"), split_by(R"(\s+$)")}, nfc));
    all.emplace_back("far ahead" + form, cutting_tokenizer({split_by(R"(\p{L}+(?=[^!]*!)|\s+|e*)")}, nfc));
  }
  return all;
}

/// Texts of pieces that touch in every way: scripts, accents, white space, added tokens, broken UTF-8.
inline std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces{
      "the", "th",     " the",         " ",      "  ",         "\n",           "\n\n",       "\r\n",   "\t",
      "e",   "\u00E9", "e\u0301",      "\u0301", "\u0323",     "\u4E2D\u6587", "\u3042",     "\uAC00", "\u1100\u1161",
      "x!",  "\u0424", "\u0645\u062D", "\u0E01", "\U0001F600", "'s",           "'ll",        "123",    "45678",
      "<e>", "<e>>\n", "<e>>",         "<e",     "<",          "\u00E9<n>",    "e\u0301<n>", "n>",     "\u212B",
      ".",   "\u00A0", "\xE4\xB8",     "\xFF",   "\x80",       "\xF0\x9F",     "\xC3",       "\u0344", "\u2002"};
  std::string text;
  for (auto count = random() % 24; count > 0; --count) text += kPieces[random() % kPieces.size()];
  return text;
}

}  // namespace shardline
