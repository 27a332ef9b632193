#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/tokens/byte_level.h"
#include "models/tokens/tokenizer.h"

namespace shardline {

/// Text in the characters of byte-level vocabularies: "Ġa" for " a".
inline std::string written(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += byte_characters()[static_cast<unsigned char>(byte)];
  return text;
}

/// A small tokenizer.json: byte b has id b. Each merge "a b" (in bytes, without spaces in a and b) makes the next
/// token, from 256 on. Words are cut as GPT-2 does it.
inline nlohmann::json made_tokenizer(const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int byte = 0; byte < 256; ++byte) vocabulary[written(std::string(1, static_cast<char>(byte)))] = byte;
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [left, right] : merges) {
    vocabulary.emplace(written(left + right), vocabulary.size());
    list.push_back(written(left) + " " + written(right));
  }
  const nlohmann::json byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", nlohmann::json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", list}}}};
}

/// An entry of "added_tokens".
inline nlohmann::json added_token(const std::string& content, int id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

inline Tokenizer tokenizer_of(const nlohmann::json& file) { return Tokenizer(file.dump(), "t.json"); }

using Ids = std::vector<std::int32_t>;

}  // namespace shardline
