#include "program/partition/assign.h"

#include <algorithm>
#include <optional>

namespace shardline {
namespace {

bool any_stored(const Layouts& layouts, const RankProgram& program, ArrayId array, auto holds) {
  const std::vector<VersionId> versions = layouts.stored(array);
  return std::any_of(versions.begin(), versions.end(), [&](VersionId v) { return holds(program.version(v).sharding); });
}

/// Calls body(array, subscripts) for every phase operand that comes from outside the operation.
template <class Body>
void for_each_operand(const Operation& op, Body body) {
  for (const Phase& phase : op.phases) {
    for (std::size_t k = 0; k < phase.operands.size(); ++k) {
      const bool outside = std::find(op.operands.begin(), op.operands.end(), phase.operands[k]) != op.operands.end();
      if (outside) body(phase.operands[k], phase.operand_subscripts[k]);
    }
  }
}

/// What one axis does in an operation.
class AxisRule {
 public:
  AxisRule(const Operation& op, const Layouts& layouts, const RankProgram& program, const Axis& axis)
      : op_(op), layouts_(layouts), program_(program), axis_(axis) {}

  /// The group that passes a debt on the axis, if there is one.
  std::optional<int> debt() const {
    bool split = false;
    for_each_operand(op_, [&](ArrayId a, const Subscripts&) { split = split || stored_split(a) >= 0; });
    if (split) return std::nullopt;
    for (std::size_t g = 0; g < op_.linear.size(); ++g) {
      if (group_owes(g)) return static_cast<int>(g);
    }
    return std::nullopt;
  }

  /// True if an operand in the group owes on the axis.
  bool group_owes(std::size_t group) const {
    const std::vector<ArrayId>& members = op_.linear[group];
    return std::any_of(members.begin(), members.end(), [&](ArrayId a) {
      return any_stored(layouts_, program_, a, [&](const Sharding& s) { return contains(s.unreduced, axis_); });
    });
  }

  /// True if `row` says that the axis splits nothing in operations of this kind.
  bool is_kept_whole_in(const std::vector<WorkIndex>& row) const {
    return std::any_of(row.begin(), row.end(),
                       [&](const WorkIndex& work) { return is_of_kind(work) && work.index.empty(); });
  }

  /// True if `row` names an index for operations of this kind.
  bool is_named_in(const std::vector<WorkIndex>& row) const {
    return std::any_of(row.begin(), row.end(), [&](const WorkIndex& work) { return is_named(work); });
  }

  /// The first index of `row` that is named for this kind, or on which an operand is stored split by
  /// the axis, or a result is wanted so.
  std::optional<int> from_row(const std::vector<WorkIndex>& row) const {
    for (const WorkIndex& work : row) {
      const int index = op_.index_named(work.index);
      if (index < 0 || op_.whole[static_cast<std::size_t>(index)]) continue;
      if (is_named(work)) return index;
      if (work.kind.empty() && (stored_on(index) || wanted_on(index))) return index;
    }
    return std::nullopt;
  }

  /// True if the operation writes its first operand in place.
  bool writes_in_place() const { return op_.phases[0].kernel->only_in_place; }

  /// The index on which that operand is stored split by the axis.
  std::optional<int> from_state() const {
    const int dim = stored_split(op_.phases[0].operands[0]);
    if (dim < 0) return std::nullopt;
    return op_.phases[0].operand_subscripts[0][static_cast<std::size_t>(dim)];
  }

  /// The index on which an operand is stored split by the axis.
  std::optional<int> from_storage() const {
    std::optional<int> result;
    for_each_operand(op_, [&](ArrayId a, const Subscripts& subscripts) {
      const int dim = stored_split(a);
      if (result || dim < 0) return;
      const int index = subscripts[static_cast<std::size_t>(dim)];
      if (!op_.whole[static_cast<std::size_t>(index)]) result = index;
    });
    return result;
  }

 private:
  bool is_of_kind(const WorkIndex& work) const {
    return !work.kind.empty() && (op_.kind == work.kind || op_.kind == work.kind + "_grad");
  }

  bool is_named(const WorkIndex& work) const { return is_of_kind(work) && op_.index_named(work.index) >= 0; }

  int stored_split(ArrayId array) const {
    int dim = -1;
    any_stored(layouts_, program_, array, [&](const Sharding& s) { return (dim = s.dim_of(axis_)) >= 0; });
    return dim;
  }

  bool stored_on(int index) const {
    bool result = false;
    for_each_operand(op_, [&](ArrayId a, const Subscripts& subscripts) {
      const int dim = stored_split(a);
      result = result || (dim >= 0 && subscripts[static_cast<std::size_t>(dim)] == index);
    });
    return result;
  }

  bool wanted_on(int index) const {
    for (const Phase& phase : op_.phases) {
      for (std::size_t k = 0; k < phase.results.size(); ++k) {
        const std::optional<Sharding> wanted = layouts_.wanted(phase.results[k], nullptr);
        const int dim = wanted ? wanted->dim_of(axis_) : -1;
        if (dim >= 0 && phase.result_subscripts[k][static_cast<std::size_t>(dim)] == index) return true;
      }
    }
    return false;
  }

  const Operation& op_;
  const Layouts& layouts_;
  const RankProgram& program_;
  const Axis& axis_;
};

/// Enumerates what the axes do, axis by axis; then the orders of axes on one index.
class Enumeration {
 public:
  Enumeration(const Operation& op, const Layouts& layouts, const RankProgram& program)
      : op_(op), layouts_(layouts), program_(program), axes_(program.mesh.axes_that_move()) {
    current_.splits.resize(op.indices.size());
    choose(0);
  }

  std::vector<Assignment> take() { return std::move(all_); }

 private:
  void choose(std::size_t which) {
    if (which == axes_.size()) {
      permute(0);
      return;
    }
    const Axis& axis = axes_[which];
    choose(which + 1);
    for (std::size_t i = 0; i < op_.indices.size(); ++i) {
      if (op_.whole[i]) continue;
      current_.splits[i].push_back(axis);
      choose(which + 1);
      current_.splits[i].pop_back();
    }
    const AxisRule rule(op_, layouts_, program_, axis);
    for (std::size_t g = 0; g < op_.linear.size(); ++g) {
      if (!rule.group_owes(g)) continue;
      current_.debts[axis] = static_cast<int>(g);
      choose(which + 1);
      current_.debts.erase(axis);
    }
  }

  /// All orders of the axes on index `i` and later indices. Axes arrive in mesh order.
  void permute(std::size_t i) {
    if (i == current_.splits.size()) {
      all_.push_back(current_);
      return;
    }
    const Axes in_order = current_.splits[i];
    std::vector<std::size_t> order(in_order.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    do {
      for (std::size_t k = 0; k < order.size(); ++k) current_.splits[i][k] = in_order[order[k]];
      permute(i + 1);
    } while (std::next_permutation(order.begin(), order.end()));
    current_.splits[i] = in_order;
  }

  const Operation& op_;
  const Layouts& layouts_;
  const RankProgram& program_;
  Axes axes_;
  Assignment current_;
  std::vector<Assignment> all_;
};

}  // namespace

Assignment assign_by_table(const Operation& op, const Layouts& layouts, const RankProgram& program,
                           const WorkTable& table) {
  Assignment assignment;
  assignment.splits.resize(op.indices.size());
  for (const Axis& axis : program.mesh.axes_that_move()) {
    const AxisRule rule(op, layouts, program, axis);
    if (rule.writes_in_place()) {
      const std::optional<int> index = rule.from_state();
      if (index) assignment.splits[static_cast<std::size_t>(*index)].push_back(axis);
      continue;
    }
    static const std::vector<WorkIndex> kNoRow;
    const auto found = table.find(axis);
    const std::vector<WorkIndex>& row = found == table.end() ? kNoRow : found->second;
    if (rule.is_kept_whole_in(row)) continue;
    const std::optional<int> group = rule.is_named_in(row) ? std::nullopt : rule.debt();
    if (group) {
      assignment.debts[axis] = *group;
      continue;
    }
    std::optional<int> index = rule.from_row(row);
    if (!index) index = rule.from_storage();
    if (index) assignment.splits[static_cast<std::size_t>(*index)].push_back(axis);
  }
  return assignment;
}

std::vector<Assignment> all_assignments(const Operation& op, const Layouts& layouts, const RankProgram& program) {
  return Enumeration(op, layouts, program).take();
}

}  // namespace shardline
