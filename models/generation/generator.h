#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "models/generation/generation_plan.h"
#include "program/run/execute.h"
#include "program/run/state.h"

namespace shardline {

/// A model on a mesh that continues texts. Parameters and caches are its state; the caches are written in place. Under
/// GenerationForm::own_prefill prefill has a second state. What ranks of a node communicate lies in shared memory: in
/// the engine's arena, which it makes if the engine has none.
class Generator {
 public:
  /// Sets every parameter of a state of this model; called on every rank, once for each state.
  using Weights = std::function<void(State&, const Model&)>;

  /// Collective over the mesh of `engine`, which must outlive it.
  Generator(collectives::Engine& engine, GenerationPlan plan, const Weights& weights);

  /// Collective over the mesh: forgets all sequences, and reads a prompt for each of the plan's. Returns on every rank
  /// the logits [B, V] of the token that follows each prompt, in sum_type() of the plan's type. Throws ResultError if
  /// one is not finite, and Error if there are not B prompts, one is empty or longer than the plan's longest, or a
  /// token is not in the vocabulary.
  const Tensor& prefill(const std::vector<std::vector<std::int32_t>>& prompts);

  /// Collective over the mesh: takes the caches that prefill() left in its own state to decode's. Does nothing if that
  /// has been done, or if there is one state. decode() calls it.
  void reshard();

  /// Collective over the mesh: adds a token to every sequence. A sequence with a token below 0 stays as it is, and its
  /// logits mean nothing. Otherwise as prefill(). Throws Error if a sequence has no room left.
  const Tensor& decode(const std::vector<std::int32_t>& tokens);

  const GenerationPlan& plan() const { return plan_; }
  /// Why there is no shared memory; empty if there is some, or no need for it.
  const std::string& arena_obstacle() const { return arena_obstacle_; }
  collectives::Engine& engine() { return engine_; }
  /// Parameters and caches as decode has them.
  const State& state() const { return state_; }
  /// Tokens of each sequence so far.
  const std::vector<Index>& lengths() const { return lengths_; }
  /// Those of the programs of the plan: first and later chunks of prefill, the reshard after them, decode.
  Executor& first() { return first_; }
  Executor* later() { return later_ ? &*later_ : nullptr; }
  Executor* resharder() { return resharder_ ? &*resharder_ : nullptr; }
  Executor& decoder() { return decoder_; }

 private:
  State& prefill_state() { return own_state_ ? *own_state_ : state_; }
  static void fill(State& state, const GenerationPhase& phase, const Weights& weights);
  void run_chunk(const std::vector<std::vector<std::int32_t>>& prompts, Index begin);
  void keep_logits(const Executor& executor, const GenerationPhase& phase, const std::vector<bool>& wanted);

  collectives::Engine& engine_;
  GenerationPlan plan_;
  std::string arena_obstacle_;
  State state_;
  std::unique_ptr<State> own_state_;  ///< of prefill; null: it shares that of decode
  Executor first_;
  std::optional<Executor> later_;
  std::optional<Executor> resharder_;
  Executor decoder_;
  std::vector<Index> lengths_;
  bool awaits_reshard_ = false;  ///< prefill's own caches are newer than those of decode
  Tensor logits_;                ///< [B, V]
};

}  // namespace shardline
