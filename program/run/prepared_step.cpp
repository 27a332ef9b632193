#include "program/run/prepared_step.h"

#include "program/price/estimate.h"

namespace shardline {

std::vector<PreparedStep> prepare_steps(const Compiled& compiled, Index rank, std::vector<Tensor>& values) {
  const RankProgram& program = compiled.program();
  const auto value = [&](VersionId v) { return v < 0 ? nullptr : &values.at(static_cast<std::size_t>(v)); };
  std::vector<PreparedStep> prepared;
  prepared.reserve(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    PreparedStep& each = prepared.emplace_back();
    for (std::size_t k = 0; k < step.results.size(); ++k) {
      const VersionId made = step.results[k];
      const auto place = compiled.arena().places.find(made);
      each.made.push_back({.value = value(made),
                           .takes = value(compiled.liveness().storage_taken(static_cast<int>(i), k)),
                           .place = place != compiled.arena().places.end() ? place->second : -1,
                           .dtype = program.array_of(made).dtype,
                           .shape = local_shape(program, made, rank)});
    }
    if (step.kind != StepKind::compute) continue;
    for (const VersionId v : step.operands) each.operands.push_back(value(v));
    for (const VersionId v : step.results) each.results.push_back(value(v));
    each.ranges = index_ranges(program, step, rank);
  }
  return prepared;
}

}  // namespace shardline
