#include "models/generation/generator.h"

#include <algorithm>
#include <utility>

#include "collectives/shared/arena.h"
#include "models/generation/phase_inputs.h"
#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/layout/finite.h"

namespace shardline {
namespace {

/// Collective over the mesh: gives the engine an arena, if the plan needs one and it has none. Returns the obstacle.
std::string make_arena(collectives::Engine& engine, const GenerationPlan& plan) {
  const auto bytes = static_cast<Index>(plan.arena().value);
  return engine.arena() != nullptr || bytes == 0 ? "" : collectives::give_arena(engine, bytes);
}

void check_token(std::int32_t token, Index vocabulary) {
  SHARDLINE_CHECK(token >= 0 && token < vocabulary, "token {} for a vocabulary of {}", token, vocabulary);
}

}  // namespace

Generator::Generator(collectives::Engine& engine, GenerationPlan plan, const Weights& weights)
    : engine_(engine),
      plan_(std::move(plan)),
      arena_obstacle_(make_arena(engine, plan_)),
      state_(engine, plan_.state()),
      own_state_(plan_.form().own_prefill ? std::make_unique<State>(engine, plan_.prefill_state()) : nullptr),
      first_(plan_.first().compiled, prefill_state()),
      decoder_(plan_.decode().compiled, state_),
      lengths_(static_cast<std::size_t>(plan_.form().sequences), 0),
      logits_(sum_type(plan_.form().dtype), {plan_.form().sequences, plan_.vocabulary()}) {
  if (plan_.later()) later_.emplace(plan_.later()->compiled, prefill_state());
  if (plan_.reshard()) resharder_.emplace(plan_.reshard()->compiled, engine);
  fill(state_, plan_.decode(), weights);
  if (own_state_) fill(*own_state_, plan_.first(), weights);
  set_positions_of(first_, plan_.first(), plan_.where());
  if (later_) set_positions_of(*later_, *plan_.later(), plan_.where());
  set_positions_of(decoder_, plan_.decode(), plan_.where());
}

void Generator::fill(State& state, const GenerationPhase& phase, const Weights& weights) {
  weights(state, phase.model);
  for (const ArrayId cache : phase.model.cached.caches) state.fill_zeros(phase.model.program.array(cache).name);
}

const Tensor& Generator::prefill(const std::vector<std::vector<std::int32_t>>& prompts) {
  SHARDLINE_CHECK(prompts.size() == lengths_.size(), "{} prompts for {} sequences", prompts.size(), lengths_.size());
  for (std::size_t b = 0; b < prompts.size(); ++b) {
    const auto length = static_cast<Index>(prompts[b].size());
    SHARDLINE_CHECK(length >= 1 && length <= plan_.form().longest, "prompt {} has {} tokens; 1 to {} are legal", b,
                    length, plan_.form().longest);
    for (const std::int32_t token : prompts[b]) check_token(token, plan_.vocabulary());
    lengths_[b] = length;
  }
  const Index longest = *std::max_element(lengths_.begin(), lengths_.end());
  first_.forget_times();
  if (later_) later_->forget_times();
  constexpr std::size_t kKeptChunks = 32;
  for (Index begin = 0; begin < longest; begin += plan_.chunk()) {
    run_chunk(prompts, begin);
    if (later_) later_->keep_times(kKeptChunks);
  }
  awaits_reshard_ = plan_.reshard().has_value();
  return logits_;
}

void Generator::run_chunk(const std::vector<std::vector<std::int32_t>>& prompts, Index begin) {
  Executor& executor = begin == 0 ? first_ : *later_;
  const GenerationPhase& phase = begin == 0 ? plan_.first() : *plan_.later();
  const Index chunk = plan_.chunk();
  const Shape shape{plan_.form().sequences, chunk};
  Tensor ids = integers(shape, 0), at = integers(shape, -1), last = integers(shape, 0);
  std::vector<bool> wanted(lengths_.size(), false);
  for (std::size_t b = 0; b < prompts.size(); ++b) {
    const Index end = std::min(begin + chunk, lengths_[b]);
    for (Index position = begin; position < end; ++position) {
      const Index place = static_cast<Index>(b) * chunk + position - begin;
      ids.view<std::int32_t>()[place] = prompts[b][static_cast<std::size_t>(position)];
      at.view<std::int32_t>()[place] = static_cast<std::int32_t>(position);
      if (position + 1 == lengths_[b]) last.view<std::int32_t>()[place] = 1, wanted[b] = true;
    }
  }
  give(executor, engine_.mesh(), phase.model.samples[0], ids);
  give(executor, engine_.mesh(), phase.model.cached.at, at);
  if (phase.model.cached.last >= 0) give(executor, engine_.mesh(), phase.model.cached.last, last);
  executor.run();
  keep_logits(executor, phase, wanted);
}

void Generator::reshard() {
  if (!awaits_reshard_) return;
  const std::array<ArrayId, 2>& ends = plan_.reshard()->caches;
  const Model &from = plan_.first().model, &to = plan_.decode().model;
  resharder_->forget_times();
  for (std::size_t layer = 0; layer < to.cached.caches.size(); layer += ends.size()) {
    const auto name_of_cache = [&](const Model& model, std::size_t i) {
      return model.program.array(model.cached.caches[layer + i]).name;
    };
    for (std::size_t i = 0; i < ends.size(); ++i) {
      resharder_->set(ends[i], own_state_->block(name_of_cache(from, i)));
    }
    resharder_->run();
    for (std::size_t i = 0; i < ends.size(); ++i) state_.set(name_of_cache(to, i), resharder_->get(ends[i]));
  }
  awaits_reshard_ = false;
}

const Tensor& Generator::decode(const std::vector<std::int32_t>& tokens) {
  SHARDLINE_CHECK(tokens.size() == lengths_.size(), "{} tokens for {} sequences", tokens.size(), lengths_.size());
  reshard();
  const Shape shape{plan_.form().sequences, 1};
  Tensor ids = integers(shape, 0), at = integers(shape, -1);
  std::vector<bool> wanted(lengths_.size(), false);
  for (std::size_t b = 0; b < tokens.size(); ++b) {
    if (tokens[b] < 0) continue;
    check_token(tokens[b], plan_.vocabulary());
    SHARDLINE_CHECK(lengths_[b] < plan_.form().context, "sequence {} has {} tokens, and no room for another one", b,
                    lengths_[b]);
    ids.view<std::int32_t>()[static_cast<Index>(b)] = tokens[b];
    at.view<std::int32_t>()[static_cast<Index>(b)] = static_cast<std::int32_t>(lengths_[b]++);
    wanted[b] = true;
  }
  const GenerationPhase& phase = plan_.decode();
  give(decoder_, engine_.mesh(), phase.model.samples[0], ids);
  give(decoder_, engine_.mesh(), phase.model.cached.at, at);
  decoder_.run();
  keep_logits(decoder_, phase, wanted);
  return logits_;
}

/// Copies the logits of the sequences that are wanted.
void Generator::keep_logits(const Executor& executor, const GenerationPhase& phase, const std::vector<bool>& wanted) {
  const Tensor made = executor.get(phase.model.result).reshaped(logits_.shape());
  for (std::size_t b = 0; b < wanted.size(); ++b) {
    if (!wanted[b]) continue;
    const auto row = static_cast<Index>(b);
    const Tensor logits = made.rows({row, row + 1});
    if (const std::string_view found = non_finite(logits); !found.empty()) {
      const DType dtype = plan_.form().dtype;
      const std::string which = wanted.size() > 1 ? fmt::format(" of text {}", row + 1) : "";
      throw ResultError(fmt::format("the logits after {} tokens{} hold {}: sums overflow in {}{}", lengths_[b], which,
                                    found, name_of(dtype), dtype == DType::f64 ? "" : "; --dtype f64 may help"));
    }
    logits_.assign({{row, row + 1}, {0, logits.extent(1)}}, logits);
  }
}

}  // namespace shardline
