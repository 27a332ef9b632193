#include "program/partition/layouts.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool in_group(const Operation& op, int group, ArrayId array) {
  const std::vector<ArrayId>& members = op.linear.at(static_cast<std::size_t>(group));
  return std::find(members.begin(), members.end(), array) != members.end();
}

std::vector<Axes> split_dims(const Subscripts& subscripts, const Assignment& assignment) {
  std::vector<Axes> dims;
  for (const int index : subscripts) dims.push_back(assignment.splits[static_cast<std::size_t>(index)]);
  return dims;
}

bool reads(const Phase& phase, int index) {
  return std::any_of(phase.operand_subscripts.begin(), phase.operand_subscripts.end(),
                     [&](const Subscripts& s) { return std::find(s.begin(), s.end(), index) != s.end(); });
}

}  // namespace

Sharding required_layout(const Program& program, const Operation& op, const Phase& phase, std::size_t operand,
                         const Assignment& assignment, const AbstractMesh& mesh) {
  Sharding layout;
  layout.dims = split_dims(phase.operand_subscripts[operand], assignment);
  for (const auto& [axis, group] : assignment.debts) {
    if (in_group(op, group, phase.operands[operand])) layout.unreduced.push_back(axis);
  }
  layout.unreduced = mesh.in_mesh_order(std::move(layout.unreduced));
  if (!layout.unreduced.empty()) layout.reduce = program.array(phase.operands[operand]).reduce;
  return layout;
}

Sharding produced_layout(const Program& program, const Operation& op, const Phase& phase, std::size_t result,
                         const Assignment& assignment, const AbstractMesh& mesh) {
  const Subscripts& subscripts = phase.result_subscripts[result];
  Sharding layout;
  layout.dims = split_dims(subscripts, assignment);
  for (std::size_t i = 0; i < assignment.splits.size(); ++i) {
    const bool summed = std::find(subscripts.begin(), subscripts.end(), static_cast<int>(i)) == subscripts.end();
    if (!summed || !reads(phase, static_cast<int>(i))) continue;
    layout.unreduced.insert(layout.unreduced.end(), assignment.splits[i].begin(), assignment.splits[i].end());
  }
  for (const auto& [axis, group] : assignment.debts) {
    const bool passes = std::any_of(phase.operands.begin(), phase.operands.end(),
                                    [&, g = group](ArrayId a) { return in_group(op, g, a); });
    if (passes) layout.unreduced.push_back(axis);
  }
  layout.unreduced = mesh.in_mesh_order(std::move(layout.unreduced));
  if (!layout.unreduced.empty()) layout.reduce = program.array(phase.results[result]).reduce;
  return layout;
}

const std::vector<VersionId>& Layouts::all(ArrayId array) const {
  const auto found = versions_.find(array);
  SHARDLINE_CHECK(found != versions_.end(), "{} is read before it is made", to_string(program_.program.array(array)));
  return found->second;
}

std::vector<VersionId> Layouts::stored(ArrayId array) const {
  std::vector<VersionId> result;
  const auto found = versions_.find(array);
  if (found == versions_.end()) return result;
  std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(result),
               [&](VersionId v) { return program_.version(v).stored; });
  return result;
}

std::vector<VersionId> Layouts::visible(ArrayId array, Region region) const {
  const bool is_parameter = program_.program.array(array).role == Role::parameter;
  const Reuse reuse = is_parameter ? policy_.parameters : policy_.activations;
  std::vector<VersionId> result;
  for (const VersionId v : all(array)) {
    const Version& version = program_.version(v);
    if (version.stored || version.region == region || reuse == Reuse::keep) result.push_back(v);
  }
  return result;
}

void Layouts::drop(ArrayId array, VersionId version) {
  std::vector<VersionId>& versions = versions_.at(array);
  versions.erase(std::remove(versions.begin(), versions.end(), version), versions.end());
}

std::optional<Sharding> Layouts::wanted(ArrayId array, const Sharding* natural) const {
  const auto declared = program_.declared.find(array);
  if (declared != program_.declared.end()) return declared->second;
  const ArrayId primal = program_.program.array(array).primal;
  if (primal < 0) return std::nullopt;
  const auto primal_declared = program_.declared.find(primal);
  if (primal_declared != program_.declared.end()) return primal_declared->second;
  for (const VersionId v : stored(primal)) {
    const Sharding& sharding = program_.version(v).sharding;
    if (!sharding.unreduced.empty()) continue;
    Sharding wanted = sharding;
    if (natural == nullptr) return wanted;
    for (const Axis& axis : natural->unreduced) {
      if (!sharding.uses(axis)) wanted.unreduced.push_back(axis);
    }
    if (!wanted.unreduced.empty()) wanted.reduce = natural->reduce;
    return wanted;
  }
  return std::nullopt;
}

}  // namespace shardline
