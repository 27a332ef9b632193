#include "models/gguf/gguf_tokens.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "models/tokens/byte_level.h"
#include "models/tokens/tokenizer_file.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Types of tokens, by number.
enum class TokenKind : std::int32_t { normal = 1, control = 3, user_defined = 4, unused = 5 };

std::int32_t number_of(TokenKind kind) { return static_cast<std::int32_t>(kind); }

/// A way to cut text into words that llama.cpp knows by name: the patterns, one after the other.
struct KnownPreTokenizer {
  std::string_view name;
  std::vector<std::string_view> patterns;
  bool ignore_merges = false;
};

const std::vector<KnownPreTokenizer>& known_pre_tokenizers() {
  static constexpr std::string_view kGpt2Words =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view kLlama3Words =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static constexpr std::string_view kQwen2Words =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const std::vector<KnownPreTokenizer> known{{"gpt-2", {kGpt2Words}},
                                                    {"llama-bpe", {kLlama3Words}, true},
                                                    {"smaug-bpe", {kLlama3Words}},
                                                    {"qwen2", {kQwen2Words}},
                                                    {"smollm", {R"(\p{N})", kGpt2Words}}};
  return known;
}

/// The name of the way in which words are made; nothing if llama.cpp has no name for it.
std::optional<std::string> pre_tokenizer_name(const TokenizerFile& file) {
  if (file.pre_tokenizer.has_prefix_space()) return std::nullopt;
  std::vector<std::string_view> patterns;
  for (const Split& split : file.pre_tokenizer.splits()) {
    if (split.behavior != SplitBehavior::isolated || split.invert) return std::nullopt;
    patterns.emplace_back(split.pattern.source());
  }
  for (const KnownPreTokenizer& known : known_pre_tokenizers()) {
    if (known.patterns == patterns && known.ignore_merges == file.model.ignore_merges) return std::string(known.name);
  }
  return std::nullopt;
}

/// Texts and types of tokens, by id.
struct TokenList {
  std::vector<std::string> texts;
  std::vector<std::int32_t> kinds;

  explicit TokenList(Index rows)
      : texts(static_cast<std::size_t>(rows)), kinds(texts.size(), number_of(TokenKind::unused)) {
    for (std::size_t id = 0; id < texts.size(); ++id) texts[id] = fmt::format("[PAD{}]", id);
  }
  void set(std::size_t id, std::string text, TokenKind kind) {
    SHARDLINE_CHECK(id < texts.size(), "token {} of a model with {} ids", id, texts.size());
    texts[id] = std::move(text);
    kinds[id] = number_of(kind);
  }
};

/// Bytes in the characters of byte-level vocabularies.
std::string in_byte_characters(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += byte_characters()[static_cast<unsigned char>(byte)];
  return text;
}

/// A token of the vocabulary as a `tokenizer.json` writes it.
std::string written_token(const TokenizerModel& model, std::size_t id) {
  return model.is_word[id] ? in_byte_characters(model.tokens[id]) : model.tokens[id];
}

TokenList tokens_of(const TokenizerFile& file, Index rows) {
  TokenList list(rows);
  for (std::size_t id = 0; id < file.model.tokens.size(); ++id) {
    if (!file.model.tokens[id].empty()) list.set(id, written_token(file.model, id), TokenKind::normal);
  }
  for (const AddedToken& token : file.added_tokens) {
    list.set(static_cast<std::size_t>(token.id), token.content,
             token.special ? TokenKind::control : TokenKind::user_defined);
  }
  return list;
}

TokenList byte_tokens(Index rows) {
  TokenList list(rows);
  for (std::size_t byte = 0; byte < byte_characters().size(); ++byte)
    list.set(byte, byte_characters()[byte], TokenKind::normal);
  return list;
}

/// "a b" for each merge, by rank. Of a pair that is listed twice the last counts here, and the first in llama.cpp.
std::vector<std::string> merges_of(const TokenizerModel& model) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> last;
  for (std::size_t rank = 0; rank < model.merges.size(); ++rank) {
    last[{model.merges[rank].left, model.merges[rank].right}] = rank;
  }
  std::vector<std::string> merges;
  for (std::size_t rank = 0; rank < model.merges.size(); ++rank) {
    const auto& [left, right, merged] = model.merges[rank];
    if (last.at({left, right}) != rank) continue;
    merges.push_back(fmt::format("{} {}", written_token(model, static_cast<std::size_t>(left)),
                                 written_token(model, static_cast<std::size_t>(right))));
  }
  return merges;
}

/// What of a tokenizer llama.cpp does in another way.
std::vector<std::string> differences_of(const TokenizerFile& file, const std::string& path) {
  std::vector<std::string> remarks;
  if (!pre_tokenizer_name(file)) {
    remarks.push_back(fmt::format(
        "{}: pre_tokenizer: llama.cpp has no name for this one, so it cuts text into other words and warns of it",
        path));
  }
  if (file.nfc) {
    remarks.push_back(
        fmt::format("{}: normalizer: llama.cpp has none, so texts must have Unicode's form C before", path));
  }
  for (const AddedToken& token : file.added_tokens) {
    if (!token.single_word && !token.left_strip && !token.right_strip) continue;
    remarks.push_back(
        fmt::format("{}: added token {}: llama.cpp does not look at what stands beside it", path, token.content));
  }
  return remarks;
}

}  // namespace

GgufTokens gguf_tokens(const TextEncoder& encoder, const std::string& path, Index rows,
                       const std::vector<std::int32_t>& ends) {
  GgufTokens result;
  const auto end = std::find_if(ends.begin(), ends.end(), [&](std::int32_t id) { return id < rows; });
  std::optional<std::int32_t> start;
  if (end != ends.end()) start = *end;
  TokenList list(0);
  std::vector<std::string> merges;
  std::optional<std::string> name = "gpt-2";
  if (encoder.reads_bytes()) {
    list = byte_tokens(rows);
  } else {
    const TokenizerFile file = parse_tokenizer_file(encoder.json(), path);
    list = tokens_of(file, rows);
    merges = merges_of(file.model);
    name = pre_tokenizer_name(file);
    if (!file.special.first_ids.empty()) start = file.special.first_ids.front();
    result.remarks = differences_of(file, path);
    if (end == ends.end()) {
      result.remarks.push_back(fmt::format(
          "{}: no token ends a text, nor does eos_token_id say one; llama.cpp takes token 11 for it", path));
    }
  }
  GgufMetadata& metadata = result.metadata;
  metadata.emplace_back("tokenizer.ggml.model", "gpt2");
  if (name) metadata.emplace_back("tokenizer.ggml.pre", *name);
  metadata.emplace_back("tokenizer.ggml.tokens", std::move(list.texts));
  metadata.emplace_back("tokenizer.ggml.token_type", std::move(list.kinds));
  metadata.emplace_back("tokenizer.ggml.merges", std::move(merges));
  if (start) metadata.emplace_back("tokenizer.ggml.bos_token_id", static_cast<std::uint32_t>(*start));
  if (end != ends.end()) metadata.emplace_back("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(*end));
  metadata.emplace_back("tokenizer.ggml.add_bos_token", false);
  return result;
}

}  // namespace shardline
