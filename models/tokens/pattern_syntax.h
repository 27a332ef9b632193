#pragma once

#include <string>
#include <string_view>

namespace shardline {

/// A regular expression of a `tokenizer.json`, rewritten for PCRE2. Such files are made for Oniguruma, and the same
/// text means something else to PCRE2 in places: white space, scripts, `\v`. Throws UsageError, one line without
/// the name of the file, for anything that is not known to mean the same to both: `\b`, `\w`, back references,
/// classes in classes, options other than `(?i:` and a first `(?i)`, possessive counts.
std::string pcre2_pattern(std::string_view oniguruma);

}  // namespace shardline
