#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/generation/token_choice.h"

namespace shardline {

using Ids = std::vector<std::int32_t>;
using Logits = std::vector<double>;
using Exists = std::function<bool(std::int32_t)>;

inline bool all_exist(std::int32_t /*id*/) { return true; }

inline TokenChooser chooser_of(const ChoiceOptions& options, const Logits& logits, const Exists& exists = all_exist) {
  return TokenChooser(options, static_cast<Index>(logits.size()), exists);
}

/// One choice by a new chooser.
inline TokenChoice chosen(const ChoiceOptions& options, const Logits& logits, double uniform, const Ids& so_far = {},
                          const Exists& exists = all_exist) {
  return chooser_of(options, logits, exists).choose(logits, so_far, uniform);
}

}  // namespace shardline
