#include "models/planning/generation_phase.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/plan/in_place.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

bool splits_places(const Strategy& strategy) {
  return std::any_of(strategy.begin(), strategy.end(),
                     [](const auto& entry) { return shardline::splits_places(entry.second.row()); });
}

/// `resting`: by it parameters and caches rest.
GenerationPhase phase_of(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                         const Strategy& strategy, const Strategy& resting, Index tokens, bool fresh) {
  for (const auto& [axis, role] : strategy) {
    require(serves(role.row(), RoleUse::generation), "role {} on axis {} is not for generation", role.name(), axis);
  }
  const CacheForm cache{.places = form.context,
                        .fresh = fresh,
                        .split_places = splits_places(strategy) || splits_places(resting),
                        .seen = form.seen,
                        .dtype = form.cache_dtype};
  GenerationPhase phase{.model = make_generation(config, {form.sequences, tokens}, cache, form.dtype)};
  const Declaration declaration = declare_generation(phase.model.program, mesh, strategy, resting);
  RankProgram program = partition(phase.model.program, mesh, declaration);
  check(program);
  phase.compiled = compile(std::move(program), form.how);
  check_in_place(*phase.compiled);
  return phase;
}

/// Positions of the places [begin, end) of a sequence, every `step`-th from `first` on, over the remaining axes.
void lay(const std::vector<std::int32_t>& positions, const std::vector<Index>& sizes, std::size_t axis,
         std::vector<std::int32_t>& laid) {
  if (axis == sizes.size()) {
    laid.insert(laid.end(), positions.begin(), positions.end());
    return;
  }
  const auto parts = static_cast<std::size_t>(sizes[axis]);
  for (std::size_t first = 0; first < parts; ++first) {
    std::vector<std::int32_t> part;
    for (std::size_t i = first; i < positions.size(); i += parts) part.push_back(positions[i]);
    lay(part, sizes, axis + 1, laid);
  }
}

}  // namespace

Index chunk_of(const GenerationForm& form) {
  constexpr Index kRows = 2048;
  const Index usual = std::max<Index>(64, kRows / form.sequences);
  return std::min(form.longest, form.chunk > 0 ? form.chunk : usual);
}

GenerationPhase decode_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                             const Strategy& strategy) {
  return phase_of(config, form, mesh, strategy, strategy, 1, false);
}

GenerationPhase first_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                            const Strategy& strategy) {
  return phase_of(config, form, mesh, strategy, form.own_prefill ? strategy : form.decode, chunk_of(form), true);
}

GenerationPhase later_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                            const Strategy& strategy) {
  return phase_of(config, form, mesh, strategy, form.own_prefill ? strategy : form.decode, chunk_of(form), false);
}

Bytes cache_bytes(const GenerationPhase& phase, Index rank) {
  const RankProgram& program = phase.compiled->program();
  Bytes bytes;
  for (const ArrayId cache : phase.model.cached.caches) {
    bytes = bytes + local_bytes(program, program.inputs.at(cache), rank);
  }
  return bytes;
}

std::vector<std::int32_t> striped_places(Index places, const std::vector<Index>& axis_sizes) {
  std::vector<std::int32_t> in_order(static_cast<std::size_t>(places)), laid;
  std::iota(in_order.begin(), in_order.end(), 0);
  lay(in_order, axis_sizes, 0, laid);
  return laid;
}

}  // namespace shardline
