#pragma once

#include <algorithm>

#include "models/planning/generation_phase.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What a run of a phase must take at least (book section 7.1): every parameter and every place of a cache that is seen
/// is read once, and every product is computed.
struct PhaseBound {
  Seconds memory;  ///< bytes of parameters and caches of the rank that has most, over the bandwidth of memory
  Seconds math;    ///< FLOPs of its products and attention, over the rate of matrix products

  Seconds bound() const { return std::max(memory, math); }
  roofline::Limiter limiter() const { return memory < math ? roofline::Limiter::compute : roofline::Limiter::memory; }
};

/// The bound of a run of `phase` in which a query sees `seen` of the places. Of experts only as many are read as tokens
/// can choose. The embedding table counts where the output projection reads it.
PhaseBound bound_of(const GenerationPhase& phase, double seen, const roofline::Hardware& hardware);

}  // namespace shardline
