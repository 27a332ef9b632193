#include "program/run/sweep_run.h"

#include <algorithm>

#include "program/ops/run_phase.h"
#include "program/run/panel_run.h"
#include "runtime/base/check.h"

namespace shardline {

SweepRun::SweepRun(const Compiled& compiled, const Action& action, Index rank,
                   const std::vector<PreparedStep>& prepared)
    : program_(compiled.program().program),
      strips_(compiled.program(), action.steps, compiled.schedule().strip_bytes, rank) {
  for (const int number : action.steps) {
    const Step& step = compiled.program().steps[static_cast<std::size_t>(number)];
    const PreparedStep& from = prepared[static_cast<std::size_t>(number)];
    SweptStep& swept = steps_.emplace_back();
    swept.operation = &compiled.program().operation_of(step);
    swept.phase = static_cast<std::size_t>(step.phase);
    swept.ranges = from.ranges;
    const Phase& phase = swept.operation->phases[swept.phase];
    const auto add = [&](std::vector<Part>& parts, VersionId v, const Subscripts& subscripts) {
      parts.push_back(part_of(compiled, v, rank));
      if (!parts.back().cut) return;
      const Subscripts leading(subscripts.begin(), subscripts.begin() + static_cast<std::ptrdiff_t>(strips_.dims()));
      SHARDLINE_CHECK(swept.indices.empty() || swept.indices == leading, "{}: its arrays begin with other indices",
                      swept.operation->kind);
      swept.indices = leading;
    };
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      add(swept.operands, step.operands[k], phase.operand_subscripts[k]);
      swept.operands.back().operand = from.operands[k];
    }
    for (std::size_t k = 0; k < step.results.size(); ++k) {
      add(swept.results, step.results[k], phase.result_subscripts[k]);
      swept.results.back().result = from.results[k];
    }
  }
}

SweepRun::Part SweepRun::part_of(const Compiled& compiled, VersionId v, Index rank) const {
  Part part{.cut = strips_.cuts(v), .passes = compiled.liveness().passes(v)};
  part.shape = local_shape(compiled.program(), v, rank);
  const Shape rest(part.shape.begin() + static_cast<std::ptrdiff_t>(part.cut ? strips_.dims() : 0), part.shape.end());
  part.position_bytes = element_count(rest) * size_of(compiled.program().array_of(v).dtype);
  return part;
}

SweepRun::Times SweepRun::run(bool polls) const {
  Times times{.steps = std::vector<Seconds>(steps_.size()), .polling = {}};
  Seconds begin = now();
  for (Index number = 0; number < strips_.count(); ++number) {
    if (polls) {
      times.polling += length(poll());
      begin = now();
    }
    const std::vector<Range> box = strips_.box(number);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      run_strip(steps_[i], box, number);
      const Seconds end = now();
      times.steps[i] += end - begin;
      begin = end;
    }
  }
  return times;
}

/// The part of an array in a strip that begins at position `first`. It shares the memory of the array.
Tensor SweepRun::strip_of(const Part& part, const std::vector<Range>& box, Index first) const {
  Tensor whole = part.result != nullptr ? *part.result : *part.operand;
  if (!part.cut) return whole;
  Shape shape = part.shape;
  for (std::size_t d = 0; d < box.size(); ++d) shape[d] = box[d].size();
  const Index offset = part.passes ? 0 : first * part.position_bytes;
  std::byte* begin = whole.data() == nullptr ? nullptr : whole.data() + offset;
  return {whole.dtype(), std::move(shape), std::shared_ptr<std::byte>(whole.memory(), begin)};
}

void SweepRun::run_strip(const SweptStep& step, const std::vector<Range>& box, Index number) const {
  const Index first = strips_.first_position(number);
  std::vector<Tensor> parts;
  parts.reserve(step.operands.size() + step.results.size());
  std::vector<const Tensor*> operands;
  std::vector<Tensor*> results;
  for (const Part& part : step.operands) operands.push_back(&parts.emplace_back(strip_of(part, box, first)));
  for (const Part& part : step.results) results.push_back(&parts.emplace_back(strip_of(part, box, first)));
  std::vector<Range> ranges = step.ranges;
  for (std::size_t d = 0; d < box.size(); ++d) {
    Range& range = ranges[static_cast<std::size_t>(step.indices[d])];
    range = {range.begin + box[d].begin, range.begin + box[d].end};
  }
  run_phase(program_, *step.operation, step.phase, ranges, operands, results, number > 0);
}

std::map<int, SweepRun> prepare_sweeps(const Compiled& compiled, Index rank,
                                       const std::vector<PreparedStep>& prepared) {
  std::map<int, SweepRun> sweeps;
  const std::vector<Action>& actions = compiled.schedule().actions;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].kind != ActionKind::sweep) continue;
    sweeps.emplace(static_cast<int>(i), SweepRun(compiled, actions[i], rank, prepared));
  }
  return sweeps;
}

}  // namespace shardline
