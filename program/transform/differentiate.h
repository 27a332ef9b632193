#pragma once

#include <map>
#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// Appends the reverse of the program's operations, knowing no layout. `seeds` gives the gradient array of each array
/// that is differentiated (a scalar loss: an input holding one); `wanted` lists the arrays whose gradients are asked
/// for. Within an operation the gradients of parameters come first, as the book lists them (section 5.1); contributions
/// to one array are added once the last is there. Returns the gradient of each wanted array that the seeds depend on.
std::map<ArrayId, ArrayId> differentiate(Program& program, const std::map<ArrayId, ArrayId>& seeds,
                                         const std::vector<ArrayId>& wanted);

}  // namespace shardline
