#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/tokens/added_tokens.h"
#include "models/tokens/bpe.h"
#include "models/tokens/nfc.h"
#include "models/tokens/pre_tokenizer.h"
#include "models/tokens/tokenizer_file.h"
#include "models/tokens/word_cache.h"

namespace shardline {

/// Turns text into token ids and back, as a `tokenizer.json` of Hugging Face says: byte-level byte-pair encoding. The
/// ids are those of Hugging Face's library (docs/models.md says for which characters they are not). An object is used
/// by one thread at a time: it remembers words, and keeps memory for the next text.
class Tokenizer {
 public:
  /// Reads the file at `path`. Throws UsageError, one line with `path`, for files that cannot be read, for tokenizers
  /// of another kind, and for anything in them that is not implemented.
  explicit Tokenizer(const std::string& path);
  /// The same for the text of such a file. `path` is for messages.
  Tokenizer(std::string_view json, const std::string& path);

  /// One more than the largest id. A model with fewer rows cannot read all texts.
  std::int32_t vocabulary_size() const { return static_cast<std::int32_t>(tokens_.size()); }
  /// True if some token has the id, which is not negative.
  bool has(std::int32_t id) const { return id < vocabulary_size() && !tokens_[static_cast<std::size_t>(id)].empty(); }
  /// The id of an added token, such as "<|endoftext|>".
  std::optional<std::int32_t> added_token(const std::string& content) const;

  /// The ids of `text`. Added tokens in it are recognised, special ones too. Broken UTF-8 is first replaced by U+FFFD
  /// (utf8.h). Throws UsageError for texts of more than 715827882 bytes.
  std::vector<std::int32_t> encode(std::string_view text);
  /// The same with the special tokens that the file's template sets around a text, if it has one.
  std::vector<std::int32_t> encode_with_special_tokens(std::string_view text);

  /// A place at which a text may be cut: the ids of the text before it, and of the text after it, are those of the
  /// whole text.
  struct Cut {
    std::size_t bytes = 0;
    std::size_t ids = 0;  ///< so many of the ids are of the bytes before
  };
  /// The ids of the first part of a text, up to the last cut.
  struct TextStart {
    std::vector<std::int32_t> ids;
    std::vector<Cut> cuts;  ///< in order, never at 0; may be none
  };
  /// True if this tokenizer's texts can be cut within: words depend on nothing before them, and neither do added tokens
  /// on what stands beside them.
  bool can_cut() const;
  /// Encodes the start of a text, only if can_cut(). Whatever the text holds after `start`, its ids begin with those of
  /// the result, and go on with those of encode() for the text from any cut on. If `ends`, `start` is all of the text;
  /// then its end is a cut. Otherwise there is no cut if `start` is too short to tell one.
  TextStart encode_start(std::string_view start, bool ends);

  /// The bytes of the tokens, one after the other. They are valid UTF-8 if the ids are whole texts; ids that end within
  /// a character end with a part of it. decode(encode(text)) is `text`, if it is valid and in the form that the
  /// normalizer makes, no split removes a part, no prefix space is added, and no added token strips spaces.
  /// Throws UsageError for an id without a token.
  std::string decode(const std::vector<std::int32_t>& ids) const;

 private:
  Tokenizer(TokenizerFile file, const std::string& path);
  void encode_text(std::string_view text);
  void encode_words(std::string_view text);
  void encode_start_of_part(std::string_view part, bool more_follows,
                            const std::function<void(std::size_t place)>& cut);
  void encode_word(std::string_view word);
  void encode_new_word(std::string_view word);

  std::vector<std::string> tokens_;  ///< by id, in bytes; empty if there is none
  std::unordered_map<std::string, std::int32_t> added_ids_;
  AddedTokens plain_added_;
  AddedTokens normalized_added_;
  std::optional<Nfc> nfc_;
  PreTokenizer pre_tokenizer_;
  Bpe bpe_;
  std::unordered_map<std::string_view, std::int32_t> whole_words_;  ///< views of tokens_; only if merges are ignored
  Template special_;
  WordCache cache_;
  std::string repaired_;
  OffsetMap repaired_places_;
  OffsetMap normal_places_;
  std::vector<std::int32_t> ids_;  ///< of the text that is encoded now
};

}  // namespace shardline
