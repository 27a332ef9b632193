#include "program/run/binding.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool is_read(const RankProgram& program, VersionId version) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    return std::find(step.operands.begin(), step.operands.end(), version) != step.operands.end();
  });
}

/// The version that rests in the state after a run, which must be as the state holds it.
std::optional<VersionId> updated_version(const Compiled& compiled, ArrayId input, const StateArray& held) {
  const RankProgram& program = compiled.program();
  for (const auto& [before, after] : program.program.updates) {
    if (before != input) continue;
    const VersionId rests = program.finals.at(after);
    const StateArray made{.name = held.name,
                          .dims = program.program.array(after).dims,
                          .shape = program.program.array(after).shape,
                          .sharding = program.version(rests).sharding,
                          .dtype = compiled.types().of(program.program, after)};
    SHARDLINE_CHECK(made == held, "the program leaves {} in the state, which holds {}", to_string(made),
                    to_string(held));
    return rests;
  }
  return std::nullopt;
}

}  // namespace

std::vector<BoundInput> bind_inputs(const Compiled& compiled, const State& state) {
  const RankProgram& program = compiled.program();
  std::vector<BoundInput> bound;
  for (const auto& [input, arrives] : program.inputs) {
    const StateArray wanted = state_array(compiled, input);
    if (!state.contains(wanted.name)) {
      SHARDLINE_CHECK(!is_state(program.program, input), "the program takes {} from the state, which has no {}",
                      to_string(wanted), wanted.name);
      continue;
    }
    const StateArray& held = state.array(wanted.name);
    SHARDLINE_CHECK(held == wanted, "the program takes {} from the state, which holds {}", to_string(wanted),
                    to_string(held));
    bound.push_back({.input = input,
                     .arrives = arrives,
                     .name = wanted.name,
                     .updated = updated_version(compiled, input, held),
                     .is_read = is_read(program, arrives)});
  }
  return bound;
}

}  // namespace shardline
