#pragma once

#include <vector>

#include "models/planning/generation_phase.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// A strategy of a phase and its predicted time for a run.
struct PricedPhase {
  Strategy strategy;
  Seconds time;
};

/// The strategies of generation, cheapest first: of decode; of prefill, given that parameters and caches rest as the
/// cheapest of decode wants them (book section 7.3). Both phases are priced on the first layers of the model and scaled
/// to all of them.
struct PricedGeneration {
  std::vector<PricedPhase> decode;
  std::vector<PricedPhase> prefill;
};

/// Prices every way to give the axes of `mesh` the roles of generation, on `prices`. Strategies of `form` are not used.
/// Decode is chosen first: every token pays for it. Pure; equal on all ranks if `prices` are.
PricedGeneration price_generation(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                                  const roofline::Hardware& prices);

}  // namespace shardline
