#pragma once

#include <array>
#include <memory>

#include "models/planning/generation_phase.h"

namespace shardline {

/// Takes the caches of one layer from the layout of prefill to that of decode, if each has a state of its own. All
/// layers lie alike, so one program serves them all, run after run.
struct CacheReshard {
  std::array<ArrayId, 2> caches{};  ///< keys and values: inputs as prefill leaves them, outputs as decode wants them
  std::shared_ptr<Compiled> compiled = nullptr;
  Index layers = 0;  ///< runs until all caches have moved

  /// Bytes that leave the rank that sends most, in all layers.
  Bytes sent() const;
};

/// Derives, checks and compiles the program. It has conversions alone, and no step where both layouts are the same. The
/// order of places (CacheArrays::where) stays as it is. Throws Error if the phases have other caches.
CacheReshard cache_reshard(const GenerationPhase& prefill, const GenerationPhase& decode);

}  // namespace shardline
