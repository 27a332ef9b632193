#include "models/tokens/tokenizer_file.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

AddedToken read_added_token(const JsonSection& section) {
  section.allow_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.content = section.text("content");
  token.id = section.id("id");
  token.single_word = section.flag("single_word");
  token.left_strip = section.flag("lstrip");
  token.right_strip = section.flag("rstrip");
  token.normalized = section.flag("normalized");
  token.special = section.flag("special", false);
  if (token.content.empty()) section.fail("\"content\" is empty");
  return token;
}

/// The tokens of the vocabulary as the file writes them, by text.
std::unordered_map<std::string, std::int32_t> written_ids(const nlohmann::json& vocabulary) {
  std::unordered_map<std::string, std::int32_t> ids;
  for (auto entry = vocabulary.begin(); entry != vocabulary.end(); ++entry) {
    ids.emplace(entry.key(), entry.value().get<std::int32_t>());
  }
  return ids;
}

/// Added tokens that are not in the vocabulary follow it without a gap. Hugging Face's library counts them so, whatever
/// the file says; a file that says something else is refused.
std::vector<AddedToken> read_added_tokens(const JsonSection& file, const std::vector<std::string>& vocabulary) {
  if (!file.has("added_tokens")) return {};
  std::unordered_map<std::string, std::int32_t> ids = written_ids(file.section("model").value("vocab"));
  auto next = static_cast<std::int32_t>(ids.size());
  std::vector<AddedToken> tokens;
  for (const JsonSection& section : file.sections("added_tokens")) {
    AddedToken token = read_added_token(section);
    const auto [place, is_new] = ids.try_emplace(token.content, next);
    next = std::max(next, place->second + 1);
    if (token.id != place->second) {
      section.fail(fmt::format("{} has id {}; by the tokens before it, it must be {}", shown(token.content), token.id,
                               place->second));
    }
    const auto row = static_cast<std::size_t>(token.id);
    if (is_new && row < vocabulary.size() && !vocabulary[row].empty()) {
      section.fail(fmt::format("{} has the id of a token of the vocabulary, {}", shown(token.content), token.id));
    }
    const auto same = [&](const AddedToken& other) { return other.content == token.content; };
    if (std::any_of(tokens.begin(), tokens.end(), same)) {
      section.fail(fmt::format("{} stands twice among the added tokens", shown(token.content)));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

void refuse_other_files(const JsonSection& file) {
  file.allow_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                   "decoder", "model"});
  if (file.text("version") != "1.0") file.fail(fmt::format("version {} is not implemented", file.text("version")));
  for (const char* key : {"truncation", "padding"}) {
    if (file.has(key)) file.fail(fmt::format("{} is not implemented", key));
  }
}

}  // namespace

TokenizerFile parse_tokenizer_file(std::string_view json, const std::string& path) {
  constexpr int kDeepest = 16;
  const nlohmann::json object = parse_object(json, path, "the tokenizer", kDeepest);
  const JsonSection file(object, path, "");
  refuse_other_files(file);
  TokenizerFile result;
  // Another kind of tokenizer differs in all sections. The model says best what it is.
  result.model = parse_model(file.section("model"));
  result.added_tokens = read_added_tokens(file, result.model.tokens);
  result.nfc = parse_normalizer(file);
  result.pre_tokenizer = parse_pre_tokenizer(file);
  result.special = parse_post_processor(file);
  check_decoder(file);
  return result;
}

}  // namespace shardline
