#include "program/run/prepared_step.h"

#include "program/plan/sweeps.h"

namespace shardline {
namespace {

/// The shape of what a rank stores of result `made` of step `number`: all of it, or one strip as a row.
Shape stored_shape(const Compiled& compiled, VersionId made, int number, Index rank) {
  const RankProgram& program = compiled.program();
  Shape shape = local_shape(program, made, rank);
  if (!compiled.liveness().passes(made)) return shape;
  const ProgramSchedule& schedule = compiled.schedule();
  const Action& sweep = schedule.actions[static_cast<std::size_t>(schedule.begins[static_cast<std::size_t>(number)])];
  const Strips strips(program, sweep.steps, schedule.strip_bytes, rank);
  return {element_count({shape.begin() + static_cast<std::ptrdiff_t>(strips.dims()), shape.end()}) *
          strips.most_positions()};
}

}  // namespace

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
      if (compiled.liveness().left_out(made)) continue;
      const auto place = compiled.arena().places.find(made);
      each.made.push_back({.value = value(made),
                           .takes = value(compiled.liveness().storage_taken(static_cast<int>(i), k)),
                           .place = place != compiled.arena().places.end() ? place->second : -1,
                           .dtype = program.array_of(made).dtype,
                           .shape = stored_shape(compiled, made, static_cast<int>(i), rank)});
    }
    if (step.kind != StepKind::compute) continue;
    for (const VersionId v : step.operands) each.operands.push_back(value(v));
    for (const VersionId v : step.results) each.results.push_back(value(v));
    each.ranges = index_ranges(program, step, rank);
  }
  return prepared;
}

}  // namespace shardline
