#include "models/strategy/strategies.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/strategy/usual_axes.h"
#include "runtime/base/check.h"
#include "runtime/base/lists.h"

namespace shardline {
namespace {

/// "fsdp+tp": each role on its usual axis.
Strategy parse_short_form(const std::string& text, const AbstractMesh& mesh, RoleUse use) {
  Strategy strategy;
  const std::vector<std::string> roles = split(text, '+');
  for (const std::string& name : roles) {
    require(!name.empty(), "strategy \"{}\": a role is missing beside a +", text);
    const AxisRole role = AxisRole::parse(name, use);
    const bool only = roles.size() == 1 && mesh.axes().size() == 1;
    strategy.emplace_back(only ? mesh.axes()[0] : usual_axis(role), role);
  }
  return strategy;
}

Strategy parse_items(const std::string& text, RoleUse use) {
  Strategy strategy;
  for (const auto& [item, role, axis] : named_values(text)) {
    require(axis.has_value() && !axis->empty(), "strategy \"{}\": \"{}\" is not ROLE=AXIS, as in fsdp=X,tp=Y", text,
            item);
    strategy.emplace_back(*axis, AxisRole::parse(role, use));
  }
  return strategy;
}

void check_axes(const std::string& text, const Strategy& strategy, const AbstractMesh& mesh) {
  for (std::size_t i = 0; i < strategy.size(); ++i) {
    const auto& [axis, role] = strategy[i];
    require(mesh.has(axis),
            "strategy \"{}\": role {} is on axis {}, which mesh {} does not have; {}=AXIS names another", text,
            role.name(), axis, mesh.to_string(), role.name());
    const auto same = [&a = axis](const auto& entry) { return entry.first == a; };
    require(std::count_if(strategy.begin(), strategy.end(), same) == 1, "strategy \"{}\": axis {} has two roles", text,
            axis);
  }
  for (const Axis& axis : mesh.axes()) {
    const auto same = [&](const auto& entry) { return entry.first == axis; };
    require(std::any_of(strategy.begin(), strategy.end(), same), "strategy \"{}\" gives axis {} of mesh {} no role",
            text, axis, mesh.to_string());
  }
}

/// The column of the table for an array. Null if the table has none for it.
const std::vector<std::string>* column(const RoleRow& row, const Program& program, const Array& array) {
  static const std::vector<std::string> kNone;
  const bool of_gradient = array.role == Role::gradient || (array.role == Role::sum && array.primal >= 0);
  const Role role = of_gradient ? program.array(array.primal).role : array.role;
  const bool vector = array.dims.size() == 1;
  switch (role) {
    case Role::parameter:
      if (vector) return &row.stream;
      if (array.role == Role::sum) return &row.sums;
      return of_gradient ? &row.gradients : &row.parameters;
    case Role::master:
      if (!vector && array.role == Role::sum) return &row.sums;
      [[fallthrough]];
    case Role::optimizer_state:
      return vector ? &row.stream : &row.gradients;
    case Role::stream:
      return &row.stream;
    case Role::tokens:
      return &row.tokens;
    case Role::cache:
      return &row.caches;
    case Role::positions:
    case Role::whole:
    case Role::sum:
      return &kNone;
    case Role::gradient:
    case Role::activation:
      return nullptr;
  }
  throw Error("unknown role");
}

Sharding layout_of(const Array& array, const std::vector<std::pair<Axis, const std::vector<std::string>*>>& columns) {
  Sharding sharding = Sharding::replicated(array.dims.size());
  for (const auto& [axis, dims] : columns) {
    const auto dim = std::find_first_of(dims->begin(), dims->end(), array.dims.begin(), array.dims.end());
    for (std::size_t d = 0; d < array.dims.size(); ++d) {
      if (dim != dims->end() && array.dims[d] == *dim) sharding.dims[d].push_back(axis);
    }
  }
  return sharding;
}

/// The operation that makes `array`. Null if there is none.
const Operation* maker_of(const Program& program, ArrayId array) {
  for (const Operation& op : program.operations) {
    if (std::find(op.results.begin(), op.results.end(), array) != op.results.end()) return &op;
  }
  return nullptr;
}

/// True if the parts of the loss, which `sum` adds up, are made from arrays that lie split by the axis.
bool splits_loss(const Axis& axis, ArrayId sum, const Program& program, const Declaration& declaration) {
  const auto is_split = [&](ArrayId array) {
    const auto layout = declaration.layouts.find(array);
    return layout != declaration.layouts.end() && layout->second.dim_of(axis) >= 0;
  };
  for (const Operation& add : program.operations) {  // of a part to the sum before it
    if (add.operands.size() != 2 || (add.operands[0] != sum && add.results[0] != sum)) continue;
    const Operation* loss = maker_of(program, add.operands[1]);
    return loss != nullptr && std::any_of(loss->operands.begin(), loss->operands.end(), is_split);
  }
  return false;
}

/// The axes over which a sum of micro-batches stays owed: those that split tokens, or what the loss is made from, but
/// not the sum. They send nothing until the last micro-batch. The price is memory: on a rank the sum is as large as the
/// gradient without these axes.
Axes owed_axes(ArrayId sum, const std::vector<std::pair<Axis, const RoleRow*>>& rows, const Program& program,
               const Declaration& declaration) {
  Axes owed;
  const bool of_loss = program.array(sum).primal < 0;
  for (const auto& [axis, row] : rows) {
    const bool parts =
        splits_batch(*row) || splits_sequences(*row) || (of_loss && splits_loss(axis, sum, program, declaration));
    if (parts && declaration.layouts.at(sum).dim_of(axis) < 0) owed.push_back(axis);
  }
  return owed;
}

}  // namespace

Strategy parse_strategy(const std::string& text, const AbstractMesh& mesh, RoleUse use) {
  Strategy strategy;
  if (text.empty()) {
    require(mesh.axes().size() <= 1, "mesh {} has several axes: give --strategy, as in fsdp=X,tp=Y", mesh.to_string());
    for (const Axis& axis : mesh.axes()) strategy.emplace_back(axis, default_role());
    return strategy;
  }
  strategy = text.find('=') == std::string::npos ? parse_short_form(text, mesh, use) : parse_items(text, use);
  check_axes(text, strategy, mesh);
  return strategy;
}

std::string to_string(const Strategy& strategy) {
  std::vector<std::string> items;
  for (const auto& [axis, role] : strategy) items.push_back(role.name() + "=" + axis);
  return fmt::format("{}", fmt::join(items, ","));
}

Axis stage_axis(const Strategy& strategy, const AbstractMesh& mesh) {
  Axis found;
  for (const auto& [axis, role] : strategy) {
    if (!makes_stages(role.row())) continue;
    require(found.empty(), "strategy \"{}\": role {} is on axes {} and {}; only one axis can make stages",
            to_string(strategy), role.name(), found, axis);
    found = axis;
  }
  return found.empty() || mesh.size(found) == 1 ? Axis() : found;
}

Strategy within_stage(const Strategy& strategy) {
  Strategy within;
  for (const auto& [axis, role] : strategy) {
    if (!makes_stages(role.row())) within.emplace_back(axis, role);
  }
  return within;
}

Declaration declare(const Program& program, const AbstractMesh& mesh, const Strategy& strategy, const Policy& policy) {
  Declaration declaration;
  declaration.policy = policy;
  std::vector<std::pair<Axis, const RoleRow*>> rows;
  for (const Axis& axis : mesh.axes()) {
    for (const auto& [given, role] : strategy) {
      if (given == axis) rows.emplace_back(axis, &role.row());
    }
  }
  for (const auto& [axis, row] : rows) declaration.work[axis] = row->work;
  for (std::size_t id = 0; id < program.arrays.size(); ++id) {
    const Array& array = program.arrays[id];
    std::vector<std::pair<Axis, const std::vector<std::string>*>> columns;
    for (const auto& [axis, row] : rows) columns.emplace_back(axis, column(*row, program, array));
    const bool spoken_of = column(strategy_table()[0], program, array) != nullptr;
    if (!spoken_of) continue;
    const auto array_id = static_cast<ArrayId>(id);
    declaration.layouts[array_id] = layout_of(array, columns);
    if (array.role != Role::sum) continue;
    declaration.layouts[array_id].unreduced = owed_axes(array_id, rows, program, declaration);
  }
  return declaration;
}

Declaration declare_generation(const Program& program, const AbstractMesh& mesh, const Strategy& strategy,
                               const Strategy& resting) {
  Declaration declaration = declare(program, mesh, strategy);
  for (const auto& [array, layout] : declare(program, mesh, resting).layouts) {
    const Role role = program.array(array).role;
    if (role != Role::parameter && role != Role::cache) continue;
    Sharding& rests = declaration.layouts[array] = layout;
    for (const auto& [axis, of_axis] : resting) {
      if (rests.dims.size() == 1 && !of_axis.row().decode.empty()) std::erase(rests.dims[0], axis);
    }
  }
  if (program.sizes.at("T") > 1) return declaration;
  for (const auto& [axis, of_axis] : strategy) {
    std::vector<WorkIndex>& work = declaration.work[axis];
    work.insert(work.begin(), of_axis.row().decode.begin(), of_axis.row().decode.end());
  }
  return declaration;
}

}  // namespace shardline
