#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/gguf/gguf_file.h"
#include "models/tokens/text_encoder.h"

namespace shardline {

/// What a GGUF file says of tokens.
struct GgufTokens {
  GgufMetadata metadata;
  std::vector<std::string> remarks;  ///< one line each: what makes other tokens of a text in llama.cpp than here
};

/// The tokens of a model with `rows` ids, at least as many as `encoder` has. Ids are the same as here; ids without a
/// token become unused tokens "[PAD7]". A text gets no token in front. Bytes are a vocabulary without merges, in which
/// each byte is a token. `ends`: ids that end a text, of which the file has the first that the model has. `path` of the
/// tokenizer is for messages. Throws Error if there are fewer rows.
GgufTokens gguf_tokens(const TextEncoder& encoder, const std::string& path, Index rows,
                       const std::vector<std::int32_t>& ends);

}  // namespace shardline
