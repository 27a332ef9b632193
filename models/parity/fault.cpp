#include "models/parity/fault.h"

#include <algorithm>

#include "models/parity/context_faults.h"
#include "models/parity/expert_faults.h"
#include "models/parity/generation_faults.h"
#include "models/parity/step_faults.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

VersionId add_version(RankProgram& program, const Version& version) {
  program.versions.push_back(version);
  return static_cast<VersionId>(program.versions.size()) - 1;
}

/// From step number `first` on, readers of `gone` read `instead`.
void read_instead(RankProgram& program, std::size_t first, VersionId gone, VersionId instead) {
  for (std::size_t i = first; i < program.steps.size(); ++i) {
    std::vector<VersionId>& operands = program.steps[i].operands;
    std::replace(operands.begin(), operands.end(), gone, instead);
  }
  for (auto& [array, version] : program.finals) version = version == gone ? instead : version;
}

/// Removes step `at`. Its readers read `instead`.
void leave_out(RankProgram& program, std::size_t at, VersionId instead) {
  const VersionId gone = program.steps[at].results[0];
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
  read_instead(program, at, gone, instead);
}

/// After step `at`, its result is reduced once more over `axes`.
void reduce_again(RankProgram& program, std::size_t at, const Axes& axes) {
  const VersionId whole = program.steps[at].results[0];
  const VersionId twice = add_version(program, program.version(whole));
  read_instead(program, at + 1, whole, twice);
  Step step = program.steps[at];
  step.kind = StepKind::all_reduce;
  step.operands = {whole};
  step.results = {twice};
  step.axes = axes;
  step.from_dim = step.to_dim = step.phase = -1;
  step.splits.clear();
  program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(step));
}

const Array& result_of(const RankProgram& program, const Step& step) { return program.array_of(step.results[0]); }

/// True if the array is the gradient of a parameter.
bool is_gradient(const RankProgram& program, const Array& array) {
  return array.role == Role::gradient && array.primal >= 0 &&
         program.program.array(array.primal).role == Role::parameter;
}

/// The last step that makes the array for which `wanted` holds, or the number of steps.
template <class Wanted>
std::size_t last_step(const RankProgram& program, Wanted wanted) {
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    if (!program.steps[i].results.empty() && wanted(program.steps[i])) return i;
  }
  return program.steps.size();
}

/// The first axis of more than one rank that splits nothing of the version. Empty: there is none.
Axes replicating_axis(const RankProgram& program, VersionId version) {
  const Sharding& sharding = program.version(version).sharding;
  for (const Axis& axis : program.mesh.axes()) {
    const bool splits = std::any_of(sharding.dims.begin(), sharding.dims.end(), [&](const Axes& axes) {
      return std::find(axes.begin(), axes.end(), axis) != axes.end();
    });
    if (!splits && sharding.unreduced.empty() && program.mesh.size(axis) > 1) return {axis};
  }
  return {};
}

/// The squares of the gradients are summed over ranks twice.
bool norm_twice(RankProgram& program) {
  const std::size_t at = last_step(program, [&](const Step& step) {
    const Array& made = result_of(program, step);
    return made.name == "norm.squares";
  });
  if (at == program.steps.size()) return false;
  const Axes axes = replicating_axis(program, program.steps[at].results[0]);
  if (axes.empty()) return false;
  reduce_again(program, at, axes);
  return true;
}

/// A gradient that is whole on several ranks is summed over them.
bool replica_summed(RankProgram& program) {
  Axes axes;
  const std::size_t at = last_step(program, [&](const Step& step) {
    if (!is_gradient(program, result_of(program, step))) return false;
    axes = replicating_axis(program, step.results[0]);
    return !axes.empty();
  });
  if (at == program.steps.size()) return false;
  reduce_again(program, at, axes);
  return true;
}

/// The reduction of a gradient is left out: each rank goes on with its own part.
bool gradient_not_reduced(RankProgram& program) {
  const std::size_t at = last_step(program, [&](const Step& step) {
    return (step.kind == StepKind::all_reduce || step.kind == StepKind::reduce_scatter) &&
           is_gradient(program, result_of(program, step));
  });
  if (at == program.steps.size()) return false;
  Step& step = program.steps[at];
  if (step.kind == StepKind::reduce_scatter) {
    step.kind = StepKind::slice;
    return true;
  }
  leave_out(program, at, step.operands[0]);
  return true;
}

/// The step that adds the two parts of the gradient of a tied embedding, or the number of steps.
std::size_t tied_sum(const RankProgram& program) {
  return last_step(program, [&](const Step& step) {
    return step.kind == StepKind::compute && program.phase_of(step).kernel->form == KernelForm::sum &&
           step.operands.size() == 2 && is_gradient(program, result_of(program, step));
  });
}

/// The part of the output projection is left out.
bool tied_gradient_lost(RankProgram& program) {
  const std::size_t at = tied_sum(program);
  if (at == program.steps.size()) return false;
  leave_out(program, at, program.steps[at].operands[1]);
  return true;
}

/// One part is added twice.
bool tied_gradient_twice(RankProgram& program) {
  const std::size_t at = tied_sum(program);
  if (at == program.steps.size()) return false;
  Step again = program.steps[at];
  const VersionId sum = again.results[0];
  const VersionId more = add_version(program, program.version(sum));
  read_instead(program, at + 1, sum, more);
  again.operands[0] = sum;
  again.results = {more};
  program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(again));
  return true;
}

/// The last rank serves its block of a gathered parameter as it was before the first step. It takes the first block
/// that the step has changed: rows of the embedding whose tokens the text does not have stay as they are.
bool stale_gather(const RankProgram& program, State& state, const std::map<std::string, Tensor>& before) {
  const Mesh& mesh = state.engine().mesh();
  if (mesh.rank() + 1 != mesh.ranks()) return false;
  for (const Step& step : program.steps) {
    if (step.kind != StepKind::all_gather) continue;
    const Array& array = program.array_of(step.operands.at(0));
    if (array.role != Role::parameter || !before.contains(array.name)) continue;
    const Tensor& old = before.at(array.name);
    if (std::equal(old.data(), old.data() + old.bytes(), state.block(array.name).data())) continue;
    state.set(array.name, old.clone());
    return true;
  }
  return false;
}

}  // namespace

const std::vector<Fault>& faults() {
  static const std::vector<Fault> kFaults = {
      {.name = "norm-twice",
       .meaning = "the squared norm of the gradient is summed over ranks that all have the sum already",
       .in_program = norm_twice},
      {.name = "replica-summed",
       .meaning = "a gradient that several ranks hold whole is summed over them",
       .in_program = replica_summed},
      {.name = "gradient-not-reduced",
       .meaning = "one gradient is not reduced: each rank uses its own part",
       .in_program = gradient_not_reduced},
      {.name = "tied-gradient-lost",
       .meaning = "the gradient of a tied embedding lacks the part of one of its two readers",
       .in_program = tied_gradient_lost},
      {.name = "tied-gradient-twice",
       .meaning = "the gradient of a tied embedding has the part of one reader twice",
       .in_program = tied_gradient_twice},
      {.name = "norm-of-a-stage-missing",
       .meaning = "a stage leaves out what the others found of the squared norm of the gradient",
       .in_program = norm_of_a_stage_missing},
      {.name = "loss-per-micro-batch",
       .meaning = "the loss of a micro-batch is not scaled by the tokens of the whole step",
       .in_program = loss_per_micro_batch},
      {.name = "last-micro-batch-only",
       .meaning = "the sum of a gradient starts again in the second micro-batch",
       .in_program = last_micro_batch_only},
      {.name = "sum-not-cleared",
       .meaning = "the sum of a gradient begins with something that is there already",
       .in_program = sum_not_cleared},
      {.name = "send-order",
       .meaning = "a stage sends one micro-batch in the place of the next",
       .in_program = send_order},
      {.name = "wrong-micro-batch",
       .meaning = "the second micro-batch reads the labels of the first",
       .in_program = wrong_micro_batch},
      {.name = "recomputed-differently",
       .meaning = "what the backward pass computes again is not what the forward pass computed",
       .in_program = recomputed_differently},
      {.name = "position-offset",
       .meaning = "a rank that has a part of the sequences counts positions from the earliest token of its part",
       .in_program = position_offset},
      {.name = "document-leak",
       .meaning = "attention sees the documents before the own one in a packed sample",
       .in_program = document_leak},
      {.name = "ring-not-rescaled",
       .meaning = "ring attention adds a block with larger scores without scaling down the sums before",
       .in_rings = ring_not_rescaled},
      {.name = "wrong-hop",
       .meaning = "ring attention takes a block of another rank for the own block, and so its keys for others",
       .in_rings = wrong_hop},
      {.name = "expert-gradient-scaled",
       .meaning = "the gradients of experts that are split over ranks count once for every such rank",
       .in_program = expert_gradient_scaled},
      {.name = "drop-by-rank",
       .meaning = "the room of an expert is counted from the sequences of a rank, so choices are dropped",
       .in_program = drop_by_rank},
      {.name = "wrong-expert", .meaning = "tokens go to the expert after the chosen one", .in_program = wrong_expert},
      {.name = "gates-not-renormalised",
       .meaning = "the weights of the chosen experts do not sum to one",
       .in_program = gates_not_renormalised},
      {.name = "combine-without-gate",
       .meaning = "what the chosen experts make is added without weights",
       .in_program = combine_without_gate},
      {.name = "stale-gather",
       .meaning = "in the second step a gathered weight has a block from before the first",
       .in_state = stale_gather},
      {.name = "mean-of-means",
       .meaning = "each rank divides the loss by the labels that count in its own rows, not by those of all rows",
       .in_samples = mean_of_means},
      {.name = "mask-shift",
       .meaning = "the labels that count are those one place before the right ones",
       .in_samples = mask_shift},
      {.name = "cache-place-off-by-one",
       .meaning = "keys and values go into the place of the next position in the caches",
       .in_generation = cache_place_off_by_one},
      {.name = "cache-places-in-order",
       .meaning = "a rank that has some places of the caches writes as if positions did not go round the ranks",
       .in_generation = cache_places_in_order},
      {.name = "decode-position-off-by-one",
       .meaning = "decode turns queries and keys by the position after the right one",
       .in_generation = decode_position_off_by_one},
  };
  return kFaults;
}

std::string fault_list() {
  std::string text;
  for (const Fault& fault : faults()) text += fmt::format("  {:<24} {}\n", fault.name, fault.meaning);
  return text;
}

const Fault& fault_named(const std::string& name) {
  for (const Fault& fault : faults()) {
    if (fault.name == name) return fault;
  }
  std::string names;
  for (const Fault& fault : faults()) names += (names.empty() ? "" : ", ") + fault.name;
  throw UsageError(fmt::format("--break {}: no such fault; there are {}", name, names));
}

}  // namespace shardline
