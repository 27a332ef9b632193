#include "program/plan/in_place.h"

#include <algorithm>
#include <set>

#include "program/ir/print.h"
#include "runtime/base/check.h"

namespace shardline {

void check_in_place(const Compiled& compiled) {
  const RankProgram& program = compiled.program();
  std::set<VersionId> arrive, leave;
  for (const auto& [before, after] : program.program.updates) {
    arrive.insert(program.inputs.at(before));
    leave.insert(program.finals.at(after));
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.kind != StepKind::compute || !program.phase_of(step).kernel->only_in_place) continue;
    const VersionId from = step.operands[0];
    const bool is_state = arrive.contains(from) && leave.contains(step.results[0]);
    const bool taken = compiled.liveness().storage_taken(static_cast<int>(i), 0) == from;
    SHARDLINE_CHECK(is_state && taken, "{} must be written in place, but {}: {}", program.array_of(from).name,
                    is_state ? "it is read after the write" : "it is converted before the write or after it",
                    to_string(program, step));
  }
}

}  // namespace shardline
