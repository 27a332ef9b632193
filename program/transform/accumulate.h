#pragma once

#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// Makes of a program for a whole batch the program of one of several micro-batches. Each array of `parts` is added to
/// a sum, right where it is made: an input "sum.NAME" of role Role::sum, which the program updates. Returns the arrays
/// of the whole step, in the order of `parts`: "step.NAME", made in the update, with role and primal of the part. A
/// part that is itself a sum over several layers (the gradient of a tied embedding) has a sum for each of them, because
/// these layers may belong to different stages. The update of the program must not read the parts. Throws Error if no
/// operation makes a part.
std::vector<ArrayId> accumulate(Program& program, const std::vector<ArrayId>& parts);

}  // namespace shardline
