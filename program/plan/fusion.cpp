#include "program/plan/fusion.h"

#include <algorithm>

namespace shardline {
namespace {

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

  /// True if only one step reads `version`.
  bool read_once(VersionId version) const {
    int reads = 0;
    for (const Step& step : program_.steps) {
      reads += static_cast<int>(std::count(step.operands.begin(), step.operands.end(), version));
    }
    return reads == 1 && std::none_of(program_.finals.begin(), program_.finals.end(),
                                      [&](const auto& final) { return final.second == version; });
  }

  bool gathers() {
    const Phase& phase = program_.phase_of(work_);
    const auto found = std::find(work_.operands.begin(), work_.operands.end(), step_.results[0]);
    if (found == work_.operands.end() || !read_once(step_.results[0])) return false;
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
    if (step_.operands[0] != work_.results[0] || !read_once(work_.results[0])) return false;
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

}  // namespace

const std::string& fusion_name(const RankProgram& program, const Step& step) {
  const Array& result = program.array_of(step.results.at(0));
  return result.repeats < 0 ? result.name : program.program.array(result.repeats).name;
}

std::optional<Fusion> fusion_of(const RankProgram& program, int collective, int computation) {
  return Finder(program, collective, computation).find();
}

}  // namespace shardline
