#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/planning/cache_reshard.h"
#include "models/planning/generation_phase.h"
#include "program/plan/state_plan.h"

namespace shardline {

/// Prefill and decode as sharded programs over one state of parameters and caches (book sections 7.1 to 7.3), or over
/// two with a reshard of the caches between them, compiled for the ranks of a mesh. Pure; does not allocate the arrays.
class GenerationPlan {
 public:
  /// Throws UsageError if a strategy does not fit the mesh or makes stages, or if the longest prompt does not fit the
  /// context; one that fills it leaves no room for decode. Throws Error if a cache could not be written in place, see
  /// check_in_place().
  GenerationPlan(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh);

  const GenerationForm& form() const { return form_; }
  /// Prefill while the caches hold nothing; of later chunks, if prompts have some; decode.
  const GenerationPhase& first() const { return first_; }
  const std::optional<GenerationPhase>& later() const { return later_; }
  const GenerationPhase& decode() const { return decode_; }
  /// From prefill to decode, under GenerationForm::own_prefill.
  const std::optional<CacheReshard>& reshard() const { return reshard_; }
  /// Tokens of each sequence in a run of prefill.
  Index chunk() const { return chunk_; }
  Index vocabulary() const { return vocabulary_; }
  /// The position that each place of the caches holds, in both phases. Where axes split the places in decode, positions
  /// go round their ranks, so that every rank has an equal share of each sequence.
  std::vector<std::int32_t> where() const;
  /// All: those of prefill, decode, and the reshard between two states.
  std::vector<const Compiled*> programs() const;
  /// The state that decode runs on, and without one of its own prefill too.
  StatePlan state() const;
  /// Prefill's own. Empty if there is none.
  StatePlan prefill_state() const;
  /// Compiles each program again that `change` changes. Returns true if it changed one. Parity plants faults so.
  bool change(const std::function<bool(RankProgram&)>& change);
  /// Prices for the expected times of the programs. Throws Error if there are some already.
  void predict_by(const roofline::Hardware& predictions);
  /// The most bytes of arrays on `rank`, outside shared memory, while it loads weights from a checkpoint or runs.
  Bytes memory(Index rank) const;
  /// Its part of the shared memory, see Generator.
  Bytes arena() const;

 private:
  std::vector<const Compiled*> prefill_programs() const;
  Bytes running_memory(Index rank) const;

  GenerationForm form_;
  Index chunk_;
  Index vocabulary_;
  GenerationPhase first_;
  std::optional<GenerationPhase> later_;
  GenerationPhase decode_;
  std::optional<CacheReshard> reshard_;
};

}  // namespace shardline
