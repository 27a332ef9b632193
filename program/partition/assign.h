#pragma once

#include <compare>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "program/partition/layouts.h"

namespace shardline {

/// An index that an axis splits where an operand is stored, or a result is wanted, split on it. With a kind: the axis
/// splits the index in every operation of this kind and in its gradient, wherever their operands lie. With a kind and
/// no index: it splits nothing there.
struct WorkIndex {
  WorkIndex(const char* name) : index(name) {}             // NOLINT: tables list most of them by name alone
  WorkIndex(std::string name) : index(std::move(name)) {}  // NOLINT
  WorkIndex(std::string of_kind, std::string name) : kind(std::move(of_kind)), index(std::move(name)) {}

  std::string kind = {};
  std::string index;
  auto operator<=>(const WorkIndex&) const = default;
};

/// For each axis the indices that it splits, in order of preference: the last column of its row in the strategy table.
using WorkTable = std::map<Axis, std::vector<WorkIndex>>;

/// What every axis does in `op` under a named strategy, without prices. In an operation that writes state in place
/// (Kernel::only_in_place) an axis splits the index on which the state is stored split by it, or nothing: state never
/// moves. In an operation for whose kind its row names no index, an axis splits nothing. In any other it does the first
/// of these that applies. (a) It carries a debt: an operand of a linear group owes on it, no operand is stored split by
/// it, and its row does not name operations of this kind. (b) It splits the first index of its row that is named for
/// this kind, or on which an operand is stored split by it, or a result is wanted so. (c) It splits the index on which
/// an operand is stored split by it. (d) Nothing.
Assignment assign_by_table(const Operation& op, const Layouts& layouts, const RankProgram& program,
                           const WorkTable& table);

/// All that the axes may do in `op`. Each axis splits one index, splits none, or carries a debt
/// that some operand already owes. Axes on one index come in every order. The order of the list is
/// fixed.
std::vector<Assignment> all_assignments(const Operation& op, const Layouts& layouts, const RankProgram& program);

}  // namespace shardline
