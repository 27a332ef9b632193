#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/tokens/added_tokens.h"
#include "models/tokens/model_section.h"
#include "models/tokens/text_sections.h"

namespace shardline {

/// All that a `tokenizer.json` says, checked.
struct TokenizerFile {
  TokenizerModel model;
  std::vector<AddedToken> added_tokens;
  bool nfc = false;  ///< text is normalized to Unicode's form C
  PreTokenizer pre_tokenizer;
  Template special;  ///< what stands around a text on request
};

/// Reads the text of a `tokenizer.json`. Throws UsageError, one line with `path`, for a tokenizer of another kind than
/// byte-level BPE, for anything that is not implemented (named), for unknown keys, and for broken files.
TokenizerFile parse_tokenizer_file(std::string_view json, const std::string& path);

}  // namespace shardline
