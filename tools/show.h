#pragma once

#include <string>
#include <vector>

#include "program/ir/rank_program.h"
#include "runtime/mesh/dist_tensor.h"

namespace shardline::tools {

/// Who holds what of `array` on `mesh`, drawn as a grid of its blocks in at most 100 columns of ASCII: on the edges the
/// positions of each dim that is cut (2:4 is 2 and 3), in a cell the ranks that hold the block, each with its mesh
/// coordinates; `=` before a rank that holds the same again, `+` before one that holds another partial sum (`^` for
/// maxima). An array of which more than two dims are cut is drawn in layers. Where there are too many blocks or ranks,
/// the first and the last are drawn and the others counted. Axes of size 1 are left out. Needs no MPI. Throws
/// UsageError as validated() does.
std::string picture(const AbstractMesh& mesh, const ArraySpec& array);

/// picture() of every array of a program in each layout that it takes, in the order of the program: operands first,
/// then what each step makes, with a blank line between them.
std::string pictures(const RankProgram& program);

}  // namespace shardline::tools
