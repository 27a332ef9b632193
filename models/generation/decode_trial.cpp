#include "models/generation/decode_trial.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "models/generation/phase_inputs.h"
#include "program/plan/arena_plan.h"
#include "runtime/layout/finite.h"

namespace shardline {
namespace {

/// The names of the parameters of a phase.
std::vector<std::string> parameters_of(const GenerationPhase& phase) {
  std::vector<std::string> names;
  for (const ModelParameter& each : phase.model.parameters) {
    names.push_back(phase.model.program.array(each.array).name);
  }
  return names;
}

/// Tokens that differ, so that experts share them.
Tensor tokens_of(Index sequences, Index vocabulary) {
  Tensor ids = integers({sequences, 1}, 0);
  for (Index b = 0; b < sequences; ++b) {
    ids.view<std::int32_t>()[b] = static_cast<std::int32_t>((b + 1) * 7919 % vocabulary);
  }
  return ids;
}

std::int32_t last_position(double seen, Index context) {
  const auto places = static_cast<Index>(std::lround(seen * static_cast<double>(context)));
  return static_cast<std::int32_t>(std::clamp<Index>(places, 1, context) - 1);
}

}  // namespace

TrialMemory trial_memory(const GenerationPlan& plan, const GenerationPhase& phase, Index rank) {
  const Compiled& program = *phase.compiled;
  const StatePlan state = plan_state({&program});
  const Bytes parameters = state.own_bytes(program.program().mesh, rank) - cache_bytes(phase, rank);
  const Index room = state.room > plan.state().room ? state.room : 0;
  // Those that the trial keeps beside the program's, as the generator does.
  const double logits = static_cast<double>(phase.model.program.sizes.at("B")) *
                        static_cast<double>(plan.vocabulary()) *
                        static_cast<double>(size_of(sum_type(plan.form().dtype)));
  return {.own = heap_peak(program.arena(), program.liveness(), rank) - parameters + Bytes(logits),
          .shared = Bytes(static_cast<double>(room + state.input_bytes))};
}

DecodeTrial::DecodeTrial(Generator& generator, const GenerationPhase& phase, double seen)
    : generator_(generator),
      phase_(phase),
      state_(generator.engine(), plan_state({phase.compiled.get()}), generator.state(), parameters_of(phase)),
      executor_(phase.compiled, state_),
      ids_(tokens_of(phase.model.program.sizes.at("B"), generator.plan().vocabulary())),
      at_(integers(ids_.shape(), last_position(seen, generator.plan().form().context))),
      logits_(sum_type(generator.plan().form().dtype), {ids_.extent(0), generator.plan().vocabulary()}) {
  set_positions_of(executor_, phase, generator.plan().where());
}

std::unique_ptr<DecodeTrial> DecodeTrial::make(Generator& generator, const GenerationPhase& phase, double seen) {
  std::unique_ptr<DecodeTrial> made(new DecodeTrial(generator, phase, seen));
  const double failed = made->take_caches() ? 0 : 1;
  if (generator.engine().mesh().comm().max(failed) > 0) return nullptr;
  return made;
}

/// False if this rank has no memory for them.
bool DecodeTrial::take_caches() {
  try {
    for (const ArrayId cache : phase_.model.cached.caches) state_.fill_zeros(phase_.model.program.array(cache).name);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void DecodeTrial::step() {
  const Mesh& mesh = generator_.engine().mesh();
  give(executor_, mesh, phase_.model.samples[0], ids_);
  give(executor_, mesh, phase_.model.cached.at, at_);
  executor_.run();
  executor_.keep_times(1);
  const Tensor made = executor_.get(phase_.model.result).reshaped(logits_.shape());
  for (Index b = 0; b < logits_.extent(0); ++b) {
    const Tensor row = made.rows({b, b + 1});
    if (non_finite(row).empty()) logits_.assign({{b, b + 1}, {0, logits_.extent(1)}}, row);
  }
}

}  // namespace shardline
