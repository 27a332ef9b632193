#include "program/run/binding.h"

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// By version: whether some step reads it.
std::vector<bool> read_versions(const RankProgram& program) {
  std::vector<bool> read(program.versions.size());
  for (const Step& step : program.steps) {
    for (const VersionId v : step.operands) read[static_cast<std::size_t>(v)] = true;
  }
  return read;
}

/// The final version that replaces the input in the state. It must match the description in the
/// state.
std::optional<VersionId> updated_version(const Compiled& compiled, ArrayId input, const StateArray& held) {
  const RankProgram& program = compiled.program();
  for (const auto& [before, after] : program.program.updates) {
    if (before != input) continue;
    const VersionId rests = program.finals.at(after);
    const StateArray made{.name = held.name,
                          .dims = program.program.array(after).dims,
                          .shape = program.program.array(after).shape,
                          .sharding = program.version(rests).sharding,
                          .dtype = program.program.array(after).dtype};
    SHARDLINE_CHECK(made == held, "the program leaves {} in the state, which holds {}", to_string(made),
                    to_string(held));
    return rests;
  }
  return std::nullopt;
}

}  // namespace

std::vector<BoundInput> bind_inputs(const Compiled& compiled, const State& state) {
  const RankProgram& program = compiled.program();
  const std::vector<bool> read = read_versions(program);
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
                     .number = state.number(wanted.name),
                     .updated = updated_version(compiled, input, held),
                     .is_read = read[static_cast<std::size_t>(arrives)]});
  }
  return bound;
}

}  // namespace shardline
