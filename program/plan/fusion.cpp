#include "program/plan/fusion.h"

#include <algorithm>
#include <optional>

#include "program/ops/run_phase.h"

namespace shardline {
namespace {

/// The steps that read `version`, in order.
std::vector<int> readers_of(const RankProgram& program, VersionId version) {
  std::vector<int> readers;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const std::vector<VersionId>& operands = program.steps[i].operands;
    if (std::find(operands.begin(), operands.end(), version) != operands.end()) readers.push_back(static_cast<int>(i));
  }
  return readers;
}

/// By version: the step that makes it, or -1.
std::vector<int> makers_of(const RankProgram& program) {
  std::vector<int> makers(program.versions.size(), -1);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const VersionId v : program.steps[i].results) makers[static_cast<std::size_t>(v)] = static_cast<int>(i);
  }
  return makers;
}

bool is_final(const RankProgram& program, VersionId version) {
  return std::any_of(program.finals.begin(), program.finals.end(),
                     [&](const auto& final) { return final.second == version; });
}

/// Fuses one product with one collective.
class Finder {
 public:
  Finder(const RankProgram& program, int collective, int computation)
      : program_(program),
        step_(program.steps[static_cast<std::size_t>(collective)]),
        work_(program.steps[static_cast<std::size_t>(computation)]) {
    fusion_.collective = collective;
    fusion_.computation = computation;
    fusion_.axes = step_.axes;
  }

  std::optional<Fusion> find() {
    if (work_.kind != StepKind::compute || !is_product()) return std::nullopt;
    const bool fits = step_.kind == StepKind::all_gather ? gathers() : reduces();
    return fits ? std::optional(fusion_) : std::nullopt;
  }

 private:
  bool is_product() const {
    const Phase& phase = program_.phase_of(work_);
    if (phase.kernel->form != KernelForm::product || phase.operands.size() != 2) return false;
    const DType type = dtype(phase.results[0]);
    return std::all_of(phase.operands.begin(), phase.operands.end(), [&](ArrayId a) { return dtype(a) == type; });
  }

  DType dtype(ArrayId array) const { return program_.program.array(array).dtype; }

  bool gathers() {
    const Phase& phase = program_.phase_of(work_);
    const VersionId whole = step_.results[0];
    const auto found = std::find(work_.operands.begin(), work_.operands.end(), whole);
    if (found == work_.operands.end() || std::count(found, work_.operands.end(), whole) > 1) return false;
    fusion_.gathers = true;
    fusion_.operand = static_cast<std::size_t>(found - work_.operands.begin());
    fusion_.dim = step_.from_dim;
    fusion_.index = phase.operand_subscripts[fusion_.operand][static_cast<std::size_t>(step_.from_dim)];
    const Subscripts& result = phase.result_subscripts[0];
    fusion_.contracted = std::find(result.begin(), result.end(), fusion_.index) == result.end();
    fusion_.in_coordinate_order = fusion_.contracted && !made_on_one_rank(result);
    return true;
  }

  /// True if every axis of the collective splits a dim of the result.
  bool made_on_one_rank(const Subscripts& result) const {
    return std::all_of(step_.axes.begin(), step_.axes.end(), [&](const Axis& axis) {
      return std::any_of(result.begin(), result.end(),
                         [&](int index) { return contains(work_.splits[static_cast<std::size_t>(index)], axis); });
    });
  }

  bool reduces() {
    if (step_.kind != StepKind::reduce_scatter && step_.kind != StepKind::all_reduce) return false;
    if (step_.operands[0] != work_.results[0] || readers_of(program_, work_.results[0]).size() != 1) return false;
    if (is_final(program_, work_.results[0])) return false;
    const Shape shape = local_shape(program_, work_.results[0], 0);
    if (shape.empty()) return false;
    fusion_.dim = step_.to_dim;
    if (step_.kind == StepKind::all_reduce) {
      const auto longer = std::find_if(shape.begin(), shape.end(), [](Index n) { return n > 1; });
      fusion_.dim = longer == shape.end() ? 0 : static_cast<int>(longer - shape.begin());
    }
    fusion_.index = program_.phase_of(work_).result_subscripts[0][static_cast<std::size_t>(fusion_.dim)];
    return true;
  }

  const RankProgram& program_;
  const Step& step_;
  const Step& work_;
  Fusion fusion_;
};

/// True if step `number` can run as early as step `first`: what it reads besides `whole` is there, or conversions make
/// it that need neither `whole` nor anything later. Moves between stages keep their order.
bool can_precede(const RankProgram& program, const std::vector<int>& makers, int number, int first, VersionId whole) {
  const Step& step = program.steps[static_cast<std::size_t>(number)];
  return std::all_of(step.operands.begin(), step.operands.end(), [&](VersionId v) {
    const int maker = makers[static_cast<std::size_t>(v)];
    if (v == whole) return step.kind == StepKind::compute;
    if (maker < first) return true;
    const StepKind kind = program.steps[static_cast<std::size_t>(maker)].kind;
    return kind != StepKind::compute && !changes_stage(kind) && can_precede(program, makers, maker, first, whole);
  });
}

/// The products that can run beside a gather. Empty: not all of its readers can be served.
FusionGroup products_of_gather(const RankProgram& program, int gather, int first) {
  const VersionId whole = program.steps[static_cast<std::size_t>(gather)].results[0];
  const std::vector<int> readers = readers_of(program, whole);
  if (readers.empty() || readers.front() != first) return {};
  const std::vector<int> makers = makers_of(program);
  FusionGroup group;
  for (const int reader : readers) {
    const Step& work = program.steps[static_cast<std::size_t>(reader)];
    const bool near = work.region == program.steps[static_cast<std::size_t>(first)].region;
    if (!near || !can_precede(program, makers, reader, first, whole)) continue;
    if (const std::optional<Fusion> fusion = Finder(program, gather, reader).find()) group.push_back(*fusion);
  }
  if (group.empty() || group.front().computation != first) return {};
  const Shape shape = local_shape(program, whole, 0);
  const bool lies_so = std::all_of(shape.begin(), shape.begin() + group[0].dim, [](Index n) { return n == 1; });
  if (!lies_so && (group.size() < readers.size() || is_final(program, whole))) return {};
  return group;
}

/// All products take a panel in the strictest order that one of them needs, and cut it by the work of all.
void join(const RankProgram& program, FusionGroup& group) {
  Flops all;
  bool in_order = false;
  for (const Fusion& fusion : group) {
    const Step& work = program.steps[static_cast<std::size_t>(fusion.computation)];
    all += phase_cost(program.program, program.operation_of(work), static_cast<std::size_t>(work.phase),
                      index_ranges(program, work, 0))
               .flops;
    in_order = in_order || fusion.in_coordinate_order;
  }
  for (Fusion& fusion : group) {
    fusion.in_coordinate_order = in_order;
    fusion.work = all;
  }
}

}  // namespace

const std::string& fusion_name(const RankProgram& program, const Step& step) {
  const Array& result = program.array_of(step.results.at(0));
  return result.repeats < 0 ? result.name : program.program.array(result.repeats).name;
}

FusionGroup fusion_of(const RankProgram& program, int collective, int computation) {
  FusionGroup group;
  if (program.steps[static_cast<std::size_t>(collective)].kind == StepKind::all_gather) {
    group = products_of_gather(program, collective, computation);
  } else if (const std::optional<Fusion> fusion = Finder(program, collective, computation).find()) {
    group.push_back(*fusion);
  }
  join(program, group);
  return group;
}

}  // namespace shardline
