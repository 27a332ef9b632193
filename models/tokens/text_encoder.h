#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokens/tokenizer.h"

namespace shardline {

/// How text becomes token ids, and ids become text: by a tokenizer, or byte by byte. Used by one thread at a time, as
/// Tokenizer is.
class TextEncoder {
 public:
  /// One byte one token: ids 0 to 255.
  TextEncoder() = default;
  /// A tokenizer: `json` is the text of a `tokenizer.json`, `path` is for messages. Throws UsageError as Tokenizer.
  TextEncoder(std::string json, const std::string& path);

  bool reads_bytes() const { return tokenizer_ == nullptr; }
  /// The text of the `tokenizer.json`; empty if bytes are tokens.
  const std::string& json() const { return json_; }
  /// "bytes", or "tokenizer of 50257 tokens, hash 0123456789abcdef". Equal for equal files, whatever their names.
  std::string description() const;

  /// One more than the largest id. A model with fewer rows cannot read all texts.
  std::int32_t vocabulary_size() const { return reads_bytes() ? kBytes : tokenizer_->vocabulary_size(); }
  /// True if some token has the id. Models may have more rows than the tokenizer has tokens.
  bool has(std::int32_t id) const { return id >= 0 && (reads_bytes() ? id < kBytes : tokenizer_->has(id)); }

  /// The ids of `text`: of its bytes, or as Tokenizer::encode().
  std::vector<std::int32_t> encode(std::string_view text);
  /// The bytes of the tokens. Throws UsageError for an id without a token.
  std::string decode(const std::vector<std::int32_t>& ids) const;
  /// The tokens that end a text or an answer. Of bytes it is byte 0, which no text should have. Of a tokenizer these
  /// are the added tokens with the names of end_token_names() that it has, in that order; maybe none. An answer to
  /// train on ends with the first. Made text ends with any of them.
  std::vector<std::int32_t> end_tokens() const;
  /// <|endoftext|>, <|end_of_text|>, </s>, <|im_end|>, <|eot_id|>.
  static const std::vector<std::string>& end_token_names();
  /// The tokenizer; none if bytes are tokens.
  Tokenizer* tokenizer() const { return tokenizer_.get(); }

 private:
  static constexpr std::int32_t kBytes = 256;

  std::string json_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace shardline
