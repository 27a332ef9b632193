#include "models/tokens/tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/tokens/utf8.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"

namespace shardline {
namespace {

/// Throws UsageError for a text that is too long.
void require_size(std::string_view text) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  // U+FFFD has three bytes; the longest text is one that is broken everywhere.
  require(text.size() <= kMost / 3, "a text of {} bytes cannot be encoded at once; at most {} can", text.size(),
          kMost / 3);
}

/// Of the start of a text, so many bytes from which an added token can be told: it ends within the start, however long
/// it is.
std::size_t certain_length(const AddedTokens& tokens, std::string_view start) {
  const std::size_t unsure = tokens.longest() == 0 ? 0 : tokens.longest() - 1;
  std::size_t length = start.size() - std::min(unsure, start.size());
  while (length > 0 && length < start.size() && (static_cast<unsigned char>(start[length]) & 0xC0) == 0x80) --length;
  return length;
}

}  // namespace

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

bool Tokenizer::can_cut() const {
  return pre_tokenizer_.can_cut() && plain_added_.stand_for_themselves() && normalized_added_.stand_for_themselves();
}

Tokenizer::TextStart Tokenizer::encode_start(std::string_view start, bool ends) {
  SHARDLINE_CHECK(can_cut(), "this tokenizer's texts cannot be cut");
  require_size(start);
  ids_.clear();
  TextStart result;
  if (!ends) start = start.substr(0, without_part_of_character(start));
  const std::string_view valid = valid_utf8(start, repaired_, &repaired_places_);
  const auto cut = [&](std::size_t place) {
    const std::optional<std::size_t> bytes = repaired_places_.original(place);
    if (bytes && *bytes > 0) result.cuts.push_back({*bytes, ids_.size()});
  };
  const std::size_t until = ends ? valid.size() : certain_length(plain_added_, valid);
  plain_added_.split(
      valid, until,
      [&](std::string_view part) {
        const auto begin = static_cast<std::size_t>(part.data() - valid.data());
        encode_start_of_part(part, !ends && begin + part.size() == until,
                             [&](std::size_t place) { cut(begin + place); });
      },
      [&](std::int32_t id, std::size_t end) {
        ids_.push_back(id);
        cut(end);
      });
  if (ends && (result.cuts.empty() || result.cuts.back().bytes < start.size()) && !start.empty()) {
    result.cuts.push_back({start.size(), ids_.size()});
  }
  ids_.resize(result.cuts.empty() ? 0 : result.cuts.back().ids);
  result.ids = std::exchange(ids_, {});
  return result;
}

/// Cuts are places in `part`. It lies between added tokens, or more of it follows.
void Tokenizer::encode_start_of_part(std::string_view part, bool more_follows,
                                     const std::function<void(std::size_t place)>& cut) {
  if (nfc_ && more_follows) part = part.substr(0, Nfc::certain_start(part));
  const std::string_view normal = nfc_ ? nfc_->normalized(part, &normal_places_) : part;
  const auto cut_normal = [&](std::size_t place) {
    const std::optional<std::size_t> bytes = normal_places_.original(place);
    if (bytes) cut(*bytes);
  };
  const std::size_t until = more_follows ? certain_length(normalized_added_, normal) : normal.size();
  normalized_added_.split(
      normal, until,
      [&](std::string_view words) {
        const auto begin = static_cast<std::size_t>(words.data() - normal.data());
        pre_tokenizer_.words(words, [this](std::string_view word) { encode_word(word); },
                             {.more_follows = more_follows && begin + words.size() == until,
                              .place = [&](std::size_t place) { cut_normal(begin + place); }});
      },
      [&](std::int32_t id, std::size_t end) {
        ids_.push_back(id);
        cut_normal(end);
      });
}

void Tokenizer::encode_text(std::string_view text) {
  require_size(text);
  const auto token = [this](std::int32_t id, std::size_t) { ids_.push_back(id); };
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
