#include "models/planning/phase_bound.h"

#include <algorithm>
#include <set>

namespace shardline {
namespace {

/// The share of its part of a parameter that a rank reads. Of experts: no more than its tokens choose, or all tokens if
/// the experts are split. Of a table that only looks up rows: nothing.
double share_read(const RankProgram& program, const GenerationPhase& phase, const ModelParameter& parameter,
                  const std::set<ArrayId>& looked_up) {
  if (looked_up.contains(parameter.array)) return 0;
  if (!parameter.by_expert) return 1;
  const Array& array = program.program.array(parameter.array);
  const VersionId weights = program.inputs.at(parameter.array), ids = program.inputs.at(phase.model.samples[0]);
  const auto here = static_cast<double>(local_shape(program, weights, 0)[0]);
  const bool split = here < static_cast<double>(array.shape[0]);
  const Shape tokens = split ? program.program.array(phase.model.samples[0]).shape : local_shape(program, ids, 0);
  const double choices = static_cast<double>(element_count(tokens) * program.program.sizes.at("J"));
  return here == 0 ? 0 : std::min(1.0, choices / here);
}

/// The tables of which no product reads the whole.
std::set<ArrayId> looked_up(const Program& program) {
  std::set<ArrayId> found, multiplied;
  for (const Operation& op : program.operations) {
    if (op.kind == "embed") found.insert(op.operands[0]);
    if (op.kind != "embed") multiplied.insert(op.operands.begin(), op.operands.end());
  }
  for (const ArrayId array : multiplied) found.erase(array);
  return found;
}

}  // namespace

PhaseBound bound_of(const GenerationPhase& phase, double seen, const roofline::Hardware& hardware) {
  const RankProgram& program = phase.compiled->program();
  const auto local = [&](ArrayId input) { return local_bytes(program, program.inputs.at(input), 0).value; };
  const std::set<ArrayId> tables = looked_up(program.program);
  double bytes = cache_bytes(phase, 0).value * seen;
  for (const ModelParameter& parameter : phase.model.parameters) {
    bytes += local(parameter.array) * share_read(program, phase, parameter, tables);
  }
  Flops flops;
  for (const StepEstimate& step : estimate(program, hardware)) flops = flops + step.flops;
  return {.memory = Bytes(bytes) / hardware.memory, .math = flops / hardware.matmul};
}

}  // namespace shardline
