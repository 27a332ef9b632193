#include "models/tokens/text_encoder.h"

#include <optional>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace shardline {

TextEncoder::TextEncoder(std::string json, const std::string& path)
    : json_(std::move(json)), tokenizer_(std::make_unique<Tokenizer>(json_, path)) {}

std::string TextEncoder::description() const {
  if (reads_bytes()) return "bytes";
  return fmt::format("tokenizer of {} tokens, hash {:016x}", vocabulary_size(), hash_of(json_));
}

std::vector<std::int32_t> TextEncoder::encode(std::string_view text) {
  if (!reads_bytes()) return tokenizer_->encode(text);
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::string TextEncoder::decode(const std::vector<std::int32_t>& ids) const {
  if (!reads_bytes()) return tokenizer_->decode(ids);
  std::string bytes;
  for (const std::int32_t id : ids) {
    require(has(id), "no byte has id {}; bytes are ids from 0 to {}", id, kBytes - 1);
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(id)));
  }
  return bytes;
}

std::vector<std::int32_t> TextEncoder::end_tokens() const {
  if (reads_bytes()) return {0};
  std::vector<std::int32_t> ids;
  for (const std::string& name : end_token_names()) {
    if (const std::optional<std::int32_t> id = tokenizer_->added_token(name)) ids.push_back(*id);
  }
  return ids;
}

const std::vector<std::string>& TextEncoder::end_token_names() {
  static const std::vector<std::string> names{"<|endoftext|>", "<|end_of_text|>", "</s>", "<|im_end|>", "<|eot_id|>"};
  return names;
}

}  // namespace shardline
