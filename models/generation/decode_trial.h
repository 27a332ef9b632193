#pragma once

#include <memory>

#include "models/generation/generator.h"

namespace shardline {

/// Memory that a DecodeTrial takes on a rank beside its generator.
struct TrialMemory {
  Bytes own;     ///< caches, activations and logits
  Bytes shared;  ///< what the engine's arena must hold beside GenerationPlan::arena()
};

/// That of a trial of `phase` beside a generator of `plan`. Pure.
TrialMemory trial_memory(const GenerationPlan& plan, const GenerationPhase& phase, Index rank);

/// Steps of decode of another number of sequences than a generator has, to time them. The parameters are those that the
/// generator holds; caches are its own. All sequences have one length.
class DecodeTrial {
 public:
  /// Collective over the mesh of `generator`, which must outlive it. `phase` is decode of the same model, context and
  /// strategy. Every sequence sees `seen` of its places, one at least. Null on every rank if one has no memory for the
  /// caches.
  static std::unique_ptr<DecodeTrial> make(Generator& generator, const GenerationPhase& phase, double seen);

  /// Collective over the mesh: all that a step of Generator::decode() does. Every step writes at the same place.
  void step();

 private:
  DecodeTrial(Generator& generator, const GenerationPhase& phase, double seen);
  bool take_caches();

  Generator& generator_;
  const GenerationPhase& phase_;
  State state_;
  Executor executor_;
  Tensor ids_;
  Tensor at_;
  Tensor logits_;  ///< [B, V]
};

}  // namespace shardline
