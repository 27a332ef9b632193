#include "models/parity/step_faults.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace shardline {
namespace {

bool is_sum(const RankProgram& program, const Step& step) {
  return step.kind == StepKind::compute && program.phase_of(step).kernel->form == KernelForm::sum;
}

/// Gives a sum other terms.
void set_terms(RankProgram& program, Step& step, const std::vector<VersionId>& terms) {
  Operation op = program.operation_of(step);
  Phase& phase = op.phases.at(static_cast<std::size_t>(step.phase));
  phase.operands.clear();
  for (const VersionId term : terms) phase.operands.push_back(program.version(term).array);
  phase.operand_subscripts.resize(terms.size(), phase.operand_subscripts.front());
  op.operands = phase.operands;
  program.program.operations.push_back(std::move(op));
  step.operation = static_cast<int>(program.program.operations.size()) - 1;
  step.operands = terms;
}

/// The first step that adds a part to the sum of a parameter's gradient over micro-batches, or the number of steps.
std::size_t first_addition(const RankProgram& program) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!is_sum(program, step) || step.operands.size() != 2 || step.region.pass == Pass::update) continue;
    const Array& made = program.array_of(step.results[0]);
    if (made.primal >= 0 && step.region.micro_batch > 0 && made.name.starts_with("sum.")) return i;
  }
  return program.steps.size();
}

}  // namespace

bool norm_of_a_stage_missing(RankProgram& program) {
  std::set<VersionId> received;
  for (Step& step : program.steps) {
    if (step.kind == StepKind::receive) received.insert(step.results.begin(), step.results.end());
    if (!is_sum(program, step) || !program.array_of(step.results[0]).name.starts_with("norm.squares")) continue;
    std::vector<VersionId> own = step.operands;
    std::erase_if(own, [&](VersionId v) { return received.contains(v); });
    if (own.size() == step.operands.size() || own.empty()) return false;
    set_terms(program, step, own);
    return true;
  }
  return false;
}

bool loss_per_micro_batch(RankProgram& program) {
  const bool several = std::any_of(program.steps.begin(), program.steps.end(),
                                   [](const Step& step) { return step.region.micro_batch > 0; });
  if (!several) return false;
  bool planted = false;
  for (const Step& step : program.steps) {
    if (step.kind != StepKind::compute) continue;
    Operation& op = program.program.operations[static_cast<std::size_t>(step.operation)];
    const auto scale = op.constants.find("scale");
    if (scale == op.constants.end() || step.region.micro_batch > 0) continue;
    scale->second *= 2;
    planted = true;
  }
  return planted;
}

bool last_micro_batch_only(RankProgram& program) {
  const std::size_t at = first_addition(program);
  if (at == program.steps.size()) return false;
  set_terms(program, program.steps[at], {program.steps[at].operands[1]});
  return true;
}

bool sum_not_cleared(RankProgram& program) {
  const std::size_t at = first_addition(program);
  if (at == program.steps.size()) return false;
  const std::vector<VersionId>& terms = program.steps[at].operands;
  set_terms(program, program.steps[at], {terms[0], terms[0], terms[1]});
  return true;
}

bool send_order(RankProgram& program) {
  for (Step& first : program.steps) {
    if (first.kind != StepKind::send || first.region.pass == Pass::update) continue;
    for (Step& second : program.steps) {
      const bool later = second.kind == StepKind::send && second.peer == first.peer &&
                         second.region.micro_batch == first.region.micro_batch + 1 &&
                         second.region.pass == first.region.pass && second.region.layer == first.region.layer;
      if (!later) continue;
      // The array of the first is sent twice: the second must not be read before it is made.
      second.operands = first.operands;
      return true;
    }
  }
  return false;
}

bool wrong_micro_batch(RankProgram& program) {
  const auto version_of = [&](const std::string& name) {
    for (const auto& [array, version] : program.inputs) {
      if (program.program.array(array).name == name) return version;
    }
    return VersionId{-1};
  };
  const VersionId first = version_of("labels");
  const VersionId second = version_of("labels@2");
  if (first < 0 || second < 0) return false;
  for (Step& step : program.steps) std::replace(step.operands.begin(), step.operands.end(), second, first);
  return true;
}

bool recomputed_differently(RankProgram& program) {
  for (Operation& op : program.program.operations) {
    const bool again = program.program.array(op.results.at(0)).repeats >= 0;
    const auto epsilon = op.constants.find("epsilon");
    if (!again || epsilon == op.constants.end()) continue;
    epsilon->second *= 1.5;
    return true;
  }
  return false;
}

}  // namespace shardline
