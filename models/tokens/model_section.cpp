#include "models/tokens/model_section.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "models/architecture/strict_json.h"
#include "models/tokens/byte_level.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

using Json = nlohmann::json;
/// The ids of tokens as the file writes them. The texts belong to the JSON value.
using Vocabulary = std::unordered_map<std::string_view, std::int32_t>;

void refuse_other_models(const JsonSection& model) {
  // The oldest files have no type. They hold byte-pair encoding.
  if (model.has("type") && model.type() != "BPE") {
    model.fail(fmt::format("{} is not implemented; implemented is BPE", model.type()));
  }
  model.allow_only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                    "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (model.flag("byte_fallback", false)) model.fail("byte_fallback is not implemented");
  if (model.has("dropout") && model.value("dropout") != 0) model.fail("dropout is not implemented");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.has(key) && !model.text(key).empty()) model.fail(fmt::format("{} is not implemented", key));
  }
}

Vocabulary read_vocabulary(const JsonSection& model, TokenizerModel& result) {
  const JsonSection vocabulary = model.section("vocab");
  const Json& object = model.value("vocab");
  Vocabulary ids;
  std::int32_t last = -1;
  for (auto entry = object.begin(); entry != object.end(); ++entry) {
    const std::int32_t id = vocabulary.id(entry.key());
    ids[entry.key()] = id;
    last = std::max(last, id);
  }
  result.tokens.resize(static_cast<std::size_t>(last) + 1);
  result.is_word.resize(result.tokens.size());
  for (const auto& [written, id] : ids) {
    const auto place = static_cast<std::size_t>(id);
    if (written.empty()) vocabulary.fail("has an empty token");
    if (!result.tokens[place].empty()) vocabulary.fail(fmt::format("two tokens have id {}", id));
    const std::optional<std::string> bytes = bytes_of_characters(written);
    result.tokens[place] = bytes.value_or(std::string(written));
    result.is_word[place] = bytes.has_value();
  }
  return ids;
}

/// True for bytes that no UTF-8 text has.
bool never_in_utf8(std::size_t byte) { return byte == 0xC0 || byte == 0xC1 || byte >= 0xF5; }

void find_byte_ids(const JsonSection& model, const Vocabulary& ids, TokenizerModel& result) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(byte_characters()[byte]);
    result.byte_ids[byte] = found == ids.end() ? -1 : found->second;
    if (found == ids.end() && !never_in_utf8(byte)) {
      model.fail(fmt::format("only byte-level vocabularies are implemented: byte {} is no token (it is written {})",
                             byte, shown(byte_characters()[byte])));
    }
  }
}

/// The two texts of a merge: "a b" or ["a", "b"].
std::pair<std::string_view, std::string_view> halves_of(const JsonSection& model, const Json& merge) {
  if (merge.is_string()) {
    const std::string_view text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
  }
  model.fail(fmt::format(R"(a merge must be "a b" or ["a", "b"], this is {})", shown(merge)));
}

void read_merges(const JsonSection& model, const Vocabulary& ids, TokenizerModel& result) {
  const Json& merges = model.value("merges");
  if (!merges.is_array()) model.fail(fmt::format("\"merges\" must be a list, this is {}", merges.type_name()));
  std::string joined;
  for (const Json& merge : merges) {
    const auto [left, right] = halves_of(model, merge);
    const auto id_of = [&](std::string_view text) {
      const auto found = ids.find(text);
      if (found == ids.end()) {
        model.fail(fmt::format("the merge {} needs {}, which is no token", shown(merge), shown(std::string(text))));
      }
      return found->second;
    };
    joined.assign(left).append(right);
    result.merges.push_back({id_of(left), id_of(right), id_of(joined)});
  }
}

}  // namespace

TokenizerModel parse_model(const JsonSection& model) {
  refuse_other_models(model);
  TokenizerModel result;
  result.ignore_merges = model.flag("ignore_merges", false);
  const Vocabulary ids = read_vocabulary(model, result);
  find_byte_ids(model, ids, result);
  read_merges(model, ids, result);
  return result;
}

}  // namespace shardline
