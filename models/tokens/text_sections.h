#pragma once

#include <cstdint>
#include <vector>

#include "models/tokens/json_section.h"
#include "models/tokens/pre_tokenizer.h"

namespace shardline {

/// Reads "normalizer". True if it is NFC; a Sequence without members, or nothing, is false. Throws UsageError, one
/// line, for any other.
bool parse_normalizer(const JsonSection& file);

/// Reads "pre_tokenizer": Split, Digits and ByteLevel, alone or in a Sequence. ByteLevel must be there, and be the
/// last. Throws UsageError, one line, for any other, and for patterns that are refused (pattern_syntax.h).
PreTokenizer parse_pre_tokenizer(const JsonSection& file);

/// The special tokens that a template sets around a text.
struct Template {
  std::vector<std::int32_t> first_ids;
  std::vector<std::int32_t> last_ids;
};

/// Reads "post_processor": ByteLevel, which changes no id, and TemplateProcessing, alone or in a Sequence. Throws
/// UsageError, one line, for any other.
Template parse_post_processor(const JsonSection& file);

/// Checks that "decoder" is ByteLevel. Throws UsageError, one line, otherwise.
void check_decoder(const JsonSection& file);

}  // namespace shardline
