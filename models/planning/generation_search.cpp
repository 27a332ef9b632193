#include "models/planning/generation_search.h"

#include <algorithm>
#include <set>

#include "models/planning/cache_reshard.h"
#include "models/strategy/strategy_space.h"
#include "program/price/estimate.h"

namespace shardline {
namespace {

/// Layers of a priced program. All layers between the first and the last are the same.
constexpr Index kSearchedLayers = 3;

/// Roles that may be cheapest in decode. The others mean the same there, or split the tokens of a sequence, of which a
/// step has one.
bool suits_decode(const RoleRow& row, bool experts) {
  if (splits_experts(row) && !experts) return false;
  if (splits_state(row) && !splits_weights(row)) return false;
  return !shares_sequences(row);
}

/// Those of prefill: it may split the tokens too.
bool suits_prefill(const RoleRow& row, bool experts) {
  if (splits_experts(row) && !experts) return false;
  return !splits_state(row) || splits_weights(row);
}

AxisRoles roles_of(const AbstractMesh& mesh, bool (*suits)(const RoleRow&, bool), bool experts) {
  AxisRoles roles;
  for (const Axis& axis : mesh.axes()) {
    if (mesh.size(axis) == 1) {
      roles[axis] = {default_role()};
      continue;
    }
    for (const AxisRole& role : roles_for_use(RoleUse::generation)) {
      if (suits(role.row(), experts)) roles[axis].push_back(role);
    }
  }
  return roles;
}

/// Prices a program of a few layers as if it had all.
class ScaledPrices {
 public:
  ScaledPrices(Index layers, const roofline::Hardware& prices)
      : few_(std::min(layers, kSearchedLayers)), missing_(static_cast<double>(layers - few_)), prices_(prices) {}

  /// Layers of the program.
  Index few() const { return few_; }

  Seconds time(const GenerationPhase& phase) const {
    const RankProgram& program = phase.compiled->program();
    phase.compiled->predict_by(prices_);
    const std::vector<Seconds>& taken = phase.compiled->time().taken;
    Seconds time;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      time += taken[i] * (is_middle(program.steps[i]) ? 1 + missing_ : 1);
    }
    return time;
  }

  /// Only what rests grows with the layers.
  Bytes memory(const GenerationPhase& phase) const {
    return phase.compiled->liveness().peak(0) + resting_bytes_of_middle(phase.compiled->program()) * missing_;
  }

 private:
  /// Of the layer that stands for those that the program lacks.
  bool is_middle(const Step& step) const { return step.region.layer == (few_ + 1) / 2; }

  /// Of parameters and caches.
  Bytes resting_bytes_of_middle(const RankProgram& program) const {
    std::set<VersionId> resting;
    for (const auto& [array, version] : program.inputs) {
      const Role role = program.program.array(array).role;
      if (role == Role::parameter || role == Role::cache) resting.insert(version);
    }
    Bytes bytes;
    for (const Step& step : program.steps) {
      if (!is_middle(step)) continue;
      for (const VersionId v : step.operands) {
        if (resting.erase(v) > 0) bytes += local_bytes(program, v, 0);
      }
    }
    return bytes;
  }

  Index few_;
  double missing_;
  const roofline::Hardware& prices_;
};

/// `phase_of` gives the time and the memory of a strategy.
template <class Phase>
std::vector<PricedPhase> priced(const std::vector<Strategy>& strategies, const std::optional<Bytes>& memory,
                                Phase phase_of) {
  std::vector<PricedPhase> all;
  for (const Strategy& strategy : strategies) all.push_back(phase_of(strategy));
  const auto fits = [&](const PricedPhase& each) { return !memory || each.memory <= *memory; };
  if (std::any_of(all.begin(), all.end(), fits)) {
    std::erase_if(all, [&](const PricedPhase& each) { return !fits(each); });
  }
  std::stable_sort(all.begin(), all.end(), [](const PricedPhase& a, const PricedPhase& b) { return a.time < b.time; });
  return all;
}

}  // namespace

PricedGeneration price_generation(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                                  const roofline::Hardware& prices, const GenerationSearch& search) {
  const ScaledPrices scaled(config.layers, prices);
  TransformerConfig few = config;
  few.layers = scaled.few();
  const bool experts = config.experts.count > 0;
  const auto strategies = [&](bool (*suits)(const RoleRow&, bool)) {
    return strategies_of({mesh, roles_of(mesh, suits, experts), {}});
  };
  PricedGeneration result;
  result.decode = priced(strategies(suits_decode), search.memory_per_rank, [&](const Strategy& strategy) {
    const GenerationPhase phase = decode_phase(few, form, mesh, strategy);
    return PricedPhase{strategy, scaled.time(phase), scaled.memory(phase)};
  });
  if (!search.prefill) return result;
  GenerationForm tried = form;
  tried.decode = result.decode.front().strategy;
  std::optional<GenerationPhase> decode;
  if (form.own_prefill) decode = decode_phase(few, form, mesh, tried.decode);
  const Index later_chunks = (form.longest - 1) / chunk_of(form);
  result.prefill = priced(strategies(suits_prefill), search.memory_per_rank, [&](const Strategy& strategy) {
    const GenerationPhase first = first_phase(few, tried, mesh, strategy);
    PricedPhase all{strategy, scaled.time(first), scaled.memory(first)};
    if (later_chunks > 0) {
      const GenerationPhase later = later_phase(few, tried, mesh, strategy);
      all.time += scaled.time(later) * static_cast<double>(later_chunks);
      all.memory = std::max(all.memory, scaled.memory(later));
    }
    if (!form.own_prefill) return all;
    const CacheReshard reshard = cache_reshard(first, *decode);
    for (const StepEstimate& step : estimate(reshard.compiled->program(), prices)) {
      all.time += step.price.time * static_cast<double>(config.layers);
    }
    all.memory += result.decode.front().memory;
    return all;
  });
  return result;
}

}  // namespace shardline
