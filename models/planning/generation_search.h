#pragma once

#include <optional>
#include <vector>

#include "models/planning/generation_phase.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// A strategy of a phase, its predicted time, and the memory that it needs.
struct PricedPhase {
  Strategy strategy;
  Seconds time;       ///< of a step of decode; of all chunks of the longest prompt in prefill
  Bytes memory = {};  ///< the most bytes of arrays on rank 0, whose blocks are the largest
};

/// The strategies of generation, cheapest first: of decode; of prefill, given that parameters and caches rest as the
/// cheapest of decode wants them (book section 7.3), or under GenerationForm::own_prefill as each of prefill does. Then
/// its time has the reshard of the caches, and its memory what decode needs. Both phases are priced on a few layers,
/// whose middle one stands for those that they lack.
struct PricedGeneration {
  std::vector<PricedPhase> decode;
  std::vector<PricedPhase> prefill;
};

/// What is searched.
struct GenerationSearch {
  /// Strategies that need more memory are left out, unless all of the phase do.
  std::optional<Bytes> memory_per_rank = {};
  bool prefill = true;  ///< false: there are no strategies of prefill in the result
};

/// Prices every way to give the axes of `mesh` the roles of generation, on `prices`. An axis of one rank has only
/// default_role(), because all roles are the same there. Strategies of `form` are not used. Decode is chosen first:
/// every token pays for it. Memory is that of the parameters and caches of all layers and of whatever a program of a
/// few layers holds beside them at its fullest moment. Pure; equal on all ranks if `prices` and `search` are.
PricedGeneration price_generation(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                                  const roofline::Hardware& prices, const GenerationSearch& search = {});

}  // namespace shardline
