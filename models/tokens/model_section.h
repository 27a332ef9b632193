#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/tokens/bpe.h"
#include "models/tokens/json_section.h"

namespace shardline {

/// The model of a tokenizer: its vocabulary and its merges.
struct TokenizerModel {
  std::vector<std::string> tokens;           ///< by id, in bytes; empty if no token has the id
  std::vector<bool> is_word;                 ///< by id: the token is written in byte characters (byte_level.h)
  std::array<std::int32_t, 256> byte_ids{};  ///< the token of each byte; -1 for bytes that UTF-8 does not have
  std::vector<Merge> merges;
  bool ignore_merges = false;  ///< a word that is a token is this token, whatever the merges make of it
};

/// Reads "model". It must be byte-pair encoding, and every byte that UTF-8 has must be a token; so `unk_token` is never
/// needed. Throws UsageError, one line, for other models, for `byte_fallback` and other settings that change ids and
/// are not implemented, for an id that two tokens have, and for merges of texts that are no tokens.
TokenizerModel parse_model(const JsonSection& model);

}  // namespace shardline
