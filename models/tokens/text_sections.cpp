#include "models/tokens/text_sections.h"

#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {
namespace {

[[noreturn]] void refuse_type(const JsonSection& section, std::string_view implemented) {
  section.fail(fmt::format("{} is not implemented; implemented: {}", section.type(), implemented));
}

/// The settings of ByteLevel in all its places.
void allow_byte_level_keys(const JsonSection& section) {
  section.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

bool is_nfc(const JsonSection& normalizer) {
  if (normalizer.type() == "NFC") {
    normalizer.allow_only({"type"});
    return true;
  }
  if (normalizer.type() != "Sequence") refuse_type(normalizer, "NFC, Sequence");
  normalizer.allow_only({"type", "normalizers"});
  bool nfc = false;
  for (const JsonSection& member : normalizer.sections("normalizers")) nfc |= is_nfc(member);
  return nfc;
}

/// How GPT-2 cuts text into words.
constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

SplitBehavior behavior_of(const JsonSection& split) {
  const std::string name = split.text("behavior");
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  split.fail(
      fmt::format("behavior {} is not implemented; implemented: Isolated, Removed, MergedWithPrevious, "
                  "MergedWithNext, Contiguous",
                  name));
}

Pattern pattern_of(const JsonSection& split) {
  const JsonSection pattern = split.section("pattern");
  pattern.allow_only({"Regex", "String"});
  try {
    return pattern.has("Regex") ? Pattern::expression(pattern.text("Regex")) : Pattern::literal(pattern.text("String"));
  } catch (const UsageError& error) {
    pattern.fail(error.what());
  }
}

/// Builds the pre-tokenizer from the sections of the file.
class PreTokenizerReader {
 public:
  void read(const JsonSection& section) {
    const std::string type = section.type();
    if (has_byte_level_) section.fail(fmt::format("{} after ByteLevel is not implemented", type));
    if (type == "Sequence") {
      section.allow_only({"type", "pretokenizers"});
      for (const JsonSection& member : section.sections("pretokenizers")) read(member);
    } else if (type == "Split") {
      section.allow_only({"type", "pattern", "behavior", "invert"});
      result_.add({pattern_of(section), behavior_of(section), section.flag("invert", false)});
    } else if (type == "Digits") {
      section.allow_only({"type", "individual_digits"});
      result_.add({Pattern::expression(section.flag("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)")});
    } else if (type == "ByteLevel") {
      read_byte_level(section);
    } else {
      refuse_type(section, "ByteLevel, Digits, Sequence, Split");
    }
  }

  bool has_byte_level() const { return has_byte_level_; }
  PreTokenizer result() { return std::move(result_); }

 private:
  void read_byte_level(const JsonSection& section) {
    allow_byte_level_keys(section);
    if (section.flag("add_prefix_space")) result_.add_prefix_space();
    if (section.flag("use_regex", true)) result_.add({Pattern::expression(kByteLevelPattern)});
    has_byte_level_ = true;
  }

  PreTokenizer result_;
  bool has_byte_level_ = false;
};

std::vector<std::int32_t> ids_of(const JsonSection& special_token) {
  special_token.allow_only({"id", "ids", "tokens"});
  const nlohmann::json& list = special_token.value("ids");
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
    if (!list[i].is_number_unsigned() || list[i] > kMostTokenId) special_token.fail("\"ids\" must be ids of tokens");
    ids.push_back(list[i].get<std::int32_t>());
  }
  if (ids.empty()) special_token.fail("\"ids\" must be ids of tokens");
  return ids;
}

Template read_template(const JsonSection& section) {
  section.allow_only({"type", "single", "pair", "special_tokens"});
  Template result;
  int texts = 0;
  for (const JsonSection& piece : section.sections("single")) {
    piece.allow_only({"SpecialToken", "Sequence"});
    if (piece.has("Sequence")) {
      if (piece.section("Sequence").text("id") != "A") piece.fail("a template for one text has only the text A");
      ++texts;
      continue;
    }
    const std::string token = piece.section("SpecialToken").text("id");
    const std::vector<std::int32_t> ids = ids_of(section.section("special_tokens").section(token));
    std::vector<std::int32_t>& side = texts == 0 ? result.first_ids : result.last_ids;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (texts != 1) section.fail(fmt::format("\"single\" must have the text once, it has it {} times", texts));
  return result;
}

Template read_post_processor(const JsonSection& section) {
  const std::string type = section.type();
  if (type == "ByteLevel") {
    allow_byte_level_keys(section);
    return {};
  }
  if (type == "TemplateProcessing") return read_template(section);
  if (type != "Sequence") refuse_type(section, "ByteLevel, Sequence, TemplateProcessing");
  section.allow_only({"type", "processors"});
  Template result;
  for (const JsonSection& member : section.sections("processors")) {
    Template next = read_post_processor(member);
    if (next.first_ids.empty() && next.last_ids.empty()) continue;
    if (!result.first_ids.empty() || !result.last_ids.empty()) section.fail("two templates are not implemented");
    result = std::move(next);
  }
  return result;
}

}  // namespace

bool parse_normalizer(const JsonSection& file) { return file.has("normalizer") && is_nfc(file.section("normalizer")); }

PreTokenizer parse_pre_tokenizer(const JsonSection& file) {
  PreTokenizerReader reader;
  if (file.has("pre_tokenizer")) reader.read(file.section("pre_tokenizer"));
  if (!reader.has_byte_level()) file.fail("pre_tokenizer without ByteLevel is not implemented");
  return reader.result();
}

Template parse_post_processor(const JsonSection& file) {
  return file.has("post_processor") ? read_post_processor(file.section("post_processor")) : Template{};
}

void check_decoder(const JsonSection& file) {
  if (!file.has("decoder")) file.fail("no decoder is not implemented; implemented: ByteLevel");
  const JsonSection decoder = file.section("decoder");
  if (decoder.type() != "ByteLevel") refuse_type(decoder, "ByteLevel");
  allow_byte_level_keys(decoder);
}

}  // namespace shardline
