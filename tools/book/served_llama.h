#pragma once

#include "models/planning/generation_closed_form.h"

namespace shardline::tools {

// What the rows of section 8 share.

inline constexpr double kServedParameters = 70e9;  ///< of LLaMA-3 70B, as the book rounds
inline constexpr double kServedContext = 8192;
inline constexpr double kServedTokens = 512;  ///< that are new
inline constexpr Seconds kFullStep{0.019};    ///< the book's, of a v5e whose memory is full

GenerationChip served_v5e();

/// LLaMA-3 70B, weights and caches with elements of so many bytes.
GenerationModel served_llama3(Bytes element);

}  // namespace shardline::tools
