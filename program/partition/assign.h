#pragma once

#include <string>
#include <vector>

#include "program/partition/layouts.h"

namespace shardline {

/// For each axis the indices that it splits by name, in order of preference: the last column of its row in the strategy
/// table.
using WorkTable = std::map<Axis, std::vector<std::string>>;

/// What every axis does in `op` under a named strategy; prices decide nothing. An axis (a) carries a debt if some
/// operand of a linear group owes on it and no operand is stored split by it; else (b) splits the first index of its
/// row on which an operand is stored, or a result wanted, split by it; else (c) the index on which an operand is stored
/// split by it; else (d) none.
Assignment assign_by_table(const Operation& op, const Layouts& layouts, const RankProgram& program,
                           const WorkTable& table);

/// Everything the axes may do in `op`: each splits one index, splits none or carries a debt that some operand already
/// owes, with every order of the axes that share an index. The order of the list is fixed.
std::vector<Assignment> all_assignments(const Operation& op, const Layouts& layouts, const RankProgram& program);

}  // namespace shardline
