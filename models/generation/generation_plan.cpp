#include "models/generation/generation_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/checkpoint/file_arrays.h"
#include "program/plan/arena_plan.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

void check_form(const GenerationForm& form) {
  SHARDLINE_CHECK(form.sequences >= 1, "generation of {} sequences", form.sequences);
  require(form.context <= std::numeric_limits<std::int32_t>::max(), "a context of {} tokens; at most {} are legal",
          form.context, std::numeric_limits<std::int32_t>::max());
  require(form.longest >= 1 && form.longest <= form.context,
          "the longest prompt has {} tokens, and a context of {} has room for 1 to {}", form.longest, form.context,
          form.context);
}

/// The axes that split the places of the caches, in the order in which they do.
Axes place_axes(const GenerationPhase& phase) {
  const RankProgram& program = phase.compiled->program();
  return program.version(program.inputs.at(phase.model.cached.caches.at(0))).sharding.dims[1];
}

/// The memory, in bytes, to load the largest block of a phase. Rank 0 holds it.
double loading_of(const GenerationPhase& phase) {
  const RankProgram& program = phase.compiled->program();
  double most = 0;
  for (const ModelParameter& parameter : phase.model.parameters) {
    const ArrayId array = parameter.array;
    const Shape block = local_shape(program, program.inputs.at(array), 0);
    most = std::max(most,
                    loading_memory(block, parameter, static_cast<double>(size_of(program.program.array(array).dtype))));
  }
  return most;
}

}  // namespace

GenerationPlan::GenerationPlan(const TransformerConfig& config, const GenerationForm& form, const AbstractMesh& mesh)
    : form_(form), chunk_(chunk_of(form)), vocabulary_(config.vocab) {
  check_form(form);
  const Strategy& of_prefill = form.prefill.value_or(form.decode);
  first_ = first_phase(config, form, mesh, of_prefill);
  if (form.longest > chunk_) later_ = later_phase(config, form, mesh, of_prefill);
  decode_ = decode_phase(config, form, mesh, form.decode);
  if (form.own_prefill) reshard_ = cache_reshard(first_, decode_);
}

std::vector<std::int32_t> GenerationPlan::where() const {
  std::vector<Index> sizes;
  for (const Axis& axis : place_axes(decode_)) sizes.push_back(decode_.compiled->program().mesh.size(axis));
  return striped_places(form_.context, sizes);
}

std::vector<const Compiled*> GenerationPlan::prefill_programs() const {
  std::vector<const Compiled*> all{first_.compiled.get()};
  if (later_) all.push_back(later_->compiled.get());
  return all;
}

std::vector<const Compiled*> GenerationPlan::programs() const {
  std::vector<const Compiled*> all = prefill_programs();
  all.push_back(decode_.compiled.get());
  if (reshard_) all.push_back(reshard_->compiled.get());
  return all;
}

StatePlan GenerationPlan::state() const {
  if (form_.own_prefill) return plan_state({decode_.compiled.get()});
  return plan_state(programs());
}

StatePlan GenerationPlan::prefill_state() const {
  return form_.own_prefill ? plan_state(prefill_programs()) : StatePlan();
}

bool GenerationPlan::change(const std::function<bool(RankProgram&)>& change) {
  const auto changed = [&](GenerationPhase& phase) {
    RankProgram program = phase.compiled->program();
    if (!change(program)) return false;
    phase.compiled = compile(std::move(program), phase.compiled->options());
    return true;
  };
  bool any = changed(first_);
  if (later_) any = changed(*later_) || any;
  return changed(decode_) || any;
}

void GenerationPlan::predict_by(const roofline::Hardware& predictions) {
  first_.compiled->predict_by(predictions);
  if (later_) later_->compiled->predict_by(predictions);
  decode_.compiled->predict_by(predictions);
  if (reshard_) reshard_->compiled->predict_by(predictions);
}

/// Both states last as long as the generator, so what the other one holds counts beside each program.
Bytes GenerationPlan::running_memory(Index rank) const {
  const AbstractMesh& mesh = decode_.compiled->program().mesh;
  const auto peak = [&](const Compiled& program) { return heap_peak(program.arena(), program.liveness(), rank); };
  const Bytes of_prefill = prefill_state().own_bytes(mesh, rank);
  const Bytes of_decode = form_.own_prefill ? state().own_bytes(mesh, rank) : Bytes(0);
  Bytes running = peak(*decode_.compiled) + of_prefill;
  for (const Compiled* program : prefill_programs()) running = std::max(running, peak(*program) + of_decode);
  if (reshard_) running = std::max(running, peak(*reshard_->compiled) + of_prefill + of_decode);
  return running;
}

Bytes GenerationPlan::memory(Index rank) const {
  // Both states are filled from the file, one after the other.
  double loading = loading_of(decode_);
  if (form_.own_prefill) loading = std::max(loading, loading_of(first_));
  // The logits of each program stay until its next run, beside those that the caller gets, and the order of places.
  const double logits = static_cast<double>(form_.sequences) * static_cast<double>(vocabulary_) *
                        static_cast<double>(size_of(sum_type(form_.dtype)));
  const double places = static_cast<double>(form_.context) * static_cast<double>(size_of(DType::i32));
  return running_memory(rank) + Bytes(loading + logits * static_cast<double>(programs().size()) + 2 * places);
}

Bytes GenerationPlan::arena() const {
  Index bytes = state().shared_bytes() + prefill_state().shared_bytes();
  if (reshard_) bytes += reshard_->compiled->arena().total_bytes();
  return Bytes(static_cast<double>(bytes));
}

}  // namespace shardline
