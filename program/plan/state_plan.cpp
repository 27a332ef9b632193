#include "program/plan/state_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"
#include "runtime/layout/sharding.h"

namespace shardline {
namespace {

void add_input(StatePlan& plan, const Compiled& compiled, ArrayId input, VersionId version) {
  const ArenaPlan& arena = compiled.arena();
  const bool shared = arena.inputs.contains(version);
  if (!is_state(compiled.program().program, input)) {
    if (shared) plan.input_bytes += arena.inputs.at(version);
    return;
  }
  StateArray array = state_array(compiled, input);
  const std::string name = array.name;
  const auto [known, added] = plan.items.try_emplace(name, StatePlan::Item{.array = array});
  SHARDLINE_CHECK(known->second.array == array, "a program uses the state {}, another one {}",
                  to_string(known->second.array), to_string(array));
  if (!shared) return;
  known->second.shared = true;
  known->second.bytes = arena.inputs.at(version);
}

}  // namespace

std::string to_string(const StateArray& array) {
  return fmt::format("{} {} of shape {}", name_of(array.dtype), to_string(array.name, array.dims, array.sharding),
                     to_string(array.shape));
}

bool is_state(const Program& program, ArrayId input) {
  const Role role = program.array(input).role;
  return role == Role::parameter || role == Role::master || role == Role::optimizer_state ||
         std::any_of(program.updates.begin(), program.updates.end(),
                     [&](const auto& update) { return update.first == input; });
}

StateArray state_array(const Compiled& compiled, ArrayId input) {
  const RankProgram& program = compiled.program();
  const Array& array = program.program.array(input);
  return {.name = array.name,
          .dims = array.dims,
          .shape = array.shape,
          .sharding = program.version(program.inputs.at(input)).sharding,
          .dtype = program.program.array(input).dtype};
}

Index StatePlan::shared_bytes() const {
  Index sum = room + input_bytes;
  for (const auto& [name, item] : items) sum += item.bytes;
  return sum;
}

Bytes StatePlan::own_bytes(const AbstractMesh& mesh, Index rank) const {
  double sum = 0;
  for (const auto& [name, item] : items) {
    const Shape block = local_shape(item.array.shape, item.array.sharding, mesh, rank);
    if (!item.shared) sum += static_cast<double>(element_count(block) * size_of(item.array.dtype));
  }
  return Bytes(sum);
}

StatePlan plan_state(const std::vector<const Compiled*>& programs) {
  StatePlan plan;
  for (const Compiled* compiled : programs) {
    plan.room = std::max(plan.room, compiled->arena().bytes);
    for (const auto& [input, version] : compiled->program().inputs) add_input(plan, *compiled, input, version);
  }
  return plan;
}

}  // namespace shardline
