#include "models/tokens/tokenizer.h"

#include <limits>
#include <utility>

#include "models/tokens/utf8.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"

namespace shardline {

Tokenizer::Tokenizer(const std::string& path) : Tokenizer(read_description(path), path) {}

Tokenizer::Tokenizer(std::string_view json, const std::string& path)
    : Tokenizer(parse_tokenizer_file(json, path), path) {}

Tokenizer::Tokenizer(TokenizerFile file, const std::string& path)
    : tokens_(std::move(file.model.tokens)),
      pre_tokenizer_(std::move(file.pre_tokenizer)),
      bpe_(file.model.byte_ids, file.model.merges),
      special_(std::move(file.special)) {
  if (file.nfc) nfc_.emplace();
  for (AddedToken& token : file.added_tokens) {
    const auto row = static_cast<std::size_t>(token.id);
    if (row >= tokens_.size()) tokens_.resize(row + 1);
    if (tokens_[row].empty()) tokens_[row] = token.content;
    added_ids_[token.content] = token.id;
    if (token.normalized && nfc_) token.content = nfc_->normalized(token.content);
    (token.normalized ? normalized_added_ : plain_added_).add(std::move(token));
  }
  for (std::size_t row = 0; file.model.ignore_merges && row < file.model.is_word.size(); ++row) {
    if (file.model.is_word[row]) whole_words_[tokens_[row]] = static_cast<std::int32_t>(row);
  }
  for (const std::vector<std::int32_t>* ids : {&special_.first_ids, &special_.last_ids}) {
    for (const std::int32_t id : *ids) {
      require(has(id), "{}: post_processor: no token has id {}", path, id);
    }
  }
}

std::optional<std::int32_t> Tokenizer::added_token(const std::string& content) const {
  const auto found = added_ids_.find(content);
  return found == added_ids_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) {
  ids_.clear();
  encode_text(text);
  return std::exchange(ids_, {});
}

std::vector<std::int32_t> Tokenizer::encode_with_special_tokens(std::string_view text) {
  ids_ = special_.first_ids;
  encode_text(text);
  ids_.insert(ids_.end(), special_.last_ids.begin(), special_.last_ids.end());
  return std::exchange(ids_, {});
}

void Tokenizer::encode_text(std::string_view text) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  // U+FFFD has three bytes; the longest text is one that is broken everywhere.
  require(text.size() <= kMost / 3, "a text of {} bytes cannot be encoded at once; at most {} can", text.size(),
          kMost / 3);
  const auto token = [this](std::int32_t id) { ids_.push_back(id); };
  plain_added_.split(
      valid_utf8(text, repaired_),
      [&](std::string_view part) {
        if (nfc_) part = nfc_->normalized(part);
        normalized_added_.split(
            part, [this](std::string_view words) { encode_words(words); }, token);
      },
      token);
}

void Tokenizer::encode_words(std::string_view text) {
  pre_tokenizer_.words(text, [this](std::string_view word) { encode_word(word); });
}

void Tokenizer::encode_word(std::string_view word) {
  if (word.size() > WordCache::kLongestWord) return encode_new_word(word);
  const WordCache::Key key = WordCache::key_of(word);
  const std::span<const std::int32_t> known = cache_.find(key);
  if (!known.empty()) {
    ids_.insert(ids_.end(), known.begin(), known.end());
    return;
  }
  const std::size_t before = ids_.size();
  encode_new_word(word);
  cache_.keep(key, std::span<const std::int32_t>(ids_).subspan(before));
}

void Tokenizer::encode_new_word(std::string_view word) {
  const auto whole = whole_words_.find(word);
  if (whole != whole_words_.end()) {
    ids_.push_back(whole->second);
  } else {
    bpe_.append(word, ids_);
  }
}

std::string Tokenizer::decode(const std::vector<std::int32_t>& ids) const {
  std::string bytes;
  for (const std::int32_t id : ids) {
    require(id >= 0 && has(id), "no token has id {}; the vocabulary has ids from 0 to {}", id, vocabulary_size() - 1);
    bytes += tokens_[static_cast<std::size_t>(id)];
  }
  return bytes;
}

}  // namespace shardline
