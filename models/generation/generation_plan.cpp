#include "models/generation/generation_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/checkpoint/file_arrays.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/plan/in_place.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

void check_form(const GenerationForm& form) {
  SHARDLINE_CHECK(form.sequences >= 1, "generation of {} sequences", form.sequences);
  require(form.longest >= 1 && form.longest < form.context,
          "the longest prompt has {} tokens, and a context of {} has room for it and at least one more only up to {}",
          form.longest, form.context, form.context - 1);
  for (const Strategy& strategy : {form.decode, form.prefill.value_or(form.decode)}) {
    for (const auto& [axis, role] : strategy) {
      require(serves(role.row(), RoleUse::generation), "role {} on axis {} is not for generation", role.name(), axis);
    }
  }
}

bool splits_places(const Strategy& strategy) {
  return std::any_of(strategy.begin(), strategy.end(),
                     [](const auto& entry) { return shardline::splits_places(entry.second.row()); });
}

/// The axes that split the places of the caches, in the order in which they do.
Axes place_axes(const GenerationPhase& phase) {
  const RankProgram& program = phase.compiled->program();
  return program.version(program.inputs.at(phase.model.cached.caches.at(0))).sharding.dims[1];
}

Index chunk_of(const GenerationForm& form) {
  return form.chunk > 0 ? std::min(form.chunk, form.longest) : usual_chunk(form.sequences, form.longest);
}

GenerationPhase phase_of(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                         const Strategy& strategy, Index tokens, bool fresh) {
  const CacheForm cache{.places = form.context,
                        .fresh = fresh,
                        .split_places = splits_places(strategy) || splits_places(form.decode),
                        .seen = form.seen};
  GenerationPhase phase{.model = make_generation(config, {form.sequences, tokens}, cache, form.dtype)};
  Declaration declaration = declare(phase.model.program, mesh, strategy);
  rest_as(declaration, phase.model.program, mesh, form.decode);
  RankProgram program = partition(phase.model.program, mesh, declaration);
  check(program);
  phase.compiled = compile(std::move(program), {});
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

GenerationPhase decode_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                             const Strategy& strategy) {
  GenerationForm own = form;
  own.decode = strategy;
  return phase_of(config, own, mesh, strategy, 1, false);
}

GenerationPhase first_phase(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh,
                            const Strategy& strategy) {
  return phase_of(config, form, mesh, strategy, chunk_of(form), true);
}

Index usual_chunk(Index sequences, Index longest) {
  constexpr Index kRows = 2048;
  return std::min(longest, std::max<Index>(64, kRows / sequences));
}

std::vector<std::int32_t> striped_places(Index places, const std::vector<Index>& axis_sizes) {
  std::vector<std::int32_t> in_order(static_cast<std::size_t>(places)), laid;
  std::iota(in_order.begin(), in_order.end(), 0);
  lay(in_order, axis_sizes, 0, laid);
  return laid;
}

GenerationPlan::GenerationPlan(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh)
    : form_(form), chunk_(chunk_of(form)), vocabulary_(config.vocab) {
  check_form(form);
  const Strategy& of_prefill = form.prefill.value_or(form.decode);
  first_ = first_phase(config, form, mesh, of_prefill);
  if (form.longest > chunk_) later_ = phase_of(config, form, mesh, of_prefill, chunk_, false);
  decode_ = decode_phase(config, form, mesh, form.decode);
  std::vector<Index> sizes;
  for (const Axis& axis : place_axes(decode_)) sizes.push_back(mesh.size(axis));
  where_ = striped_places(form.context, sizes);
}

std::vector<const Compiled*> GenerationPlan::programs() const {
  std::vector<const Compiled*> all{first_.compiled.get()};
  if (later_) all.push_back(later_->compiled.get());
  all.push_back(decode_.compiled.get());
  return all;
}

void GenerationPlan::predict_by(const roofline::Hardware& predictions) {
  first_.compiled->predict_by(predictions);
  if (later_) later_->compiled->predict_by(predictions);
  decode_.compiled->predict_by(predictions);
}

Bytes GenerationPlan::memory(Index rank) const {
  double running = 0;
  for (const Compiled* program : programs()) running = std::max(running, program->liveness().peak(rank).value);
  double loading = 0;  // for a block; rank 0 holds the largest
  for (const ModelParameter& parameter : decode_.model.parameters) {
    const RankProgram& program = decode_.compiled->program();
    const Shape block = local_shape(program, program.inputs.at(parameter.array), 0);
    loading = std::max(loading, loading_memory(block, parameter, static_cast<double>(size_of(form_.dtype))));
  }
  return Bytes(running + loading);
}

Bytes GenerationPlan::cache_bytes(Index rank) const {
  const RankProgram& program = decode_.compiled->program();
  Bytes bytes;
  for (const ArrayId cache : decode_.model.cached.caches) {
    bytes = bytes + local_bytes(program, program.inputs.at(cache), rank);
  }
  return bytes;
}

}  // namespace shardline
