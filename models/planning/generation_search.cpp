#include "models/planning/generation_search.h"

#include <algorithm>

#include "models/strategy/strategy_space.h"

namespace shardline {
namespace {

/// Layers that stand for all.
constexpr Index kPricedLayers = 2;

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
    for (const AxisRole& role : roles_for_use(RoleUse::generation)) {
      if (suits(role.row(), experts)) roles[axis].push_back(role);
    }
  }
  return roles;
}

/// The time of a run of `phase`, whose program has kPricedLayers layers, for `layers` of them.
Seconds scaled_time(const GenerationPhase& phase, const roofline::Hardware& prices, Index layers) {
  const RankProgram& program = phase.compiled->program();
  const std::vector<StepEstimate> estimates = estimate(program, prices);
  Seconds of_layers, others;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const int layer = program.steps[i].region.layer;
    (layer >= 1 && layer <= kPricedLayers ? of_layers : others) += estimates[i].price.time;
  }
  return of_layers * (static_cast<double>(layers) / kPricedLayers) + others;
}

template <class Phase>
std::vector<PricedPhase> priced(const std::vector<Strategy>& strategies, Phase time_of) {
  std::vector<PricedPhase> all;
  for (const Strategy& strategy : strategies) all.push_back({strategy, time_of(strategy)});
  std::stable_sort(all.begin(), all.end(), [](const PricedPhase& a, const PricedPhase& b) { return a.time < b.time; });
  return all;
}

}  // namespace

PricedGeneration price_generation(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                                  const roofline::Hardware& prices) {
  TransformerConfig few = config;
  few.layers = std::min(config.layers, kPricedLayers);
  const bool experts = config.experts.count > 0;
  const Index layers = std::max(config.layers, kPricedLayers);
  const auto strategies = [&](bool (*suits)(const RoleRow&, bool)) {
    return strategies_of({mesh, roles_of(mesh, suits, experts), {}});
  };
  GenerationForm tried = form;
  PricedGeneration result;
  result.decode = priced(strategies(suits_decode), [&](const Strategy& strategy) {
    return scaled_time(decode_phase(few, form, mesh, strategy), prices, layers);
  });
  tried.decode = result.decode.front().strategy;
  result.prefill = priced(strategies(suits_prefill), [&](const Strategy& strategy) {
    return scaled_time(first_phase(few, tried, mesh, strategy), prices, layers);
  });
  return result;
}

}  // namespace shardline
