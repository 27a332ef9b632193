#pragma once

#include <map>
#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// Appends the reverse of the program's operations; it needs no layout. `seeds` gives the gradient
/// array of each differentiated array (for a scalar loss: an input that holds one). `wanted` lists
/// the arrays that need gradients. In each operation the gradients of parameters come first, as in
/// the book (section 5.1). Contributions to one array are added where the last one is made: between
/// two layers one array crosses. Returns
/// the gradient of each wanted array that the seeds depend on.
std::map<ArrayId, ArrayId> differentiate(Program& program, const std::map<ArrayId, ArrayId>& seeds,
                                         const std::vector<ArrayId>& wanted);

}  // namespace shardline
