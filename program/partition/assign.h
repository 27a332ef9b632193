#pragma once

#include <string>
#include <vector>

#include "program/partition/layouts.h"

namespace shardline {

/// For each axis the names of the indices that it splits, in order of preference: the last column
/// of its row in the strategy table.
using WorkTable = std::map<Axis, std::vector<std::string>>;

/// What every axis does in `op` under a named strategy, without prices. An axis does the first of
/// these that applies. (a) It carries a debt: an operand of a linear group owes on it, and no
/// operand is stored split by it. (b) It splits the first index of its row on which an operand is
/// stored split by it, or a result is wanted so. (c) It splits the index on which an operand is
/// stored split by it. (d) Nothing.
Assignment assign_by_table(const Operation& op, const Layouts& layouts, const RankProgram& program,
                           const WorkTable& table);

/// All that the axes may do in `op`. Each axis splits one index, splits none, or carries a debt
/// that some operand already owes. Axes on one index come in every order. The order of the list is
/// fixed.
std::vector<Assignment> all_assignments(const Operation& op, const Layouts& layouts, const RankProgram& program);

}  // namespace shardline
