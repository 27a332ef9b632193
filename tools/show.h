#pragma once

#include <string>
#include <vector>

#include "program/ir/rank_program.h"
#include "runtime/mesh/dist_tensor.h"

namespace shardline::tools {

/// Draws who holds which block of `array` on `mesh`: a grid of blocks, at most 100 columns of
/// ASCII. The edges show the positions of each cut dim (2:4 is 2 and 3). A cell shows the ranks
/// that hold the block, each with its mesh coordinates. `=` marks a rank with a copy, `+` one with
/// another partial sum (`^` for maxima). If more than two dims are cut, the grid has layers. If
/// there are too many blocks or ranks, the first and the last are drawn and the others counted.
/// Axes of size 1 are left out. Needs no MPI. Throws UsageError as validated() does.
std::string picture(const AbstractMesh& mesh, const ArraySpec& array);

/// picture() of every array of a program in each of its layouts, in program order: operands first,
/// then the results of each step. Blank lines separate them.
std::string pictures(const RankProgram& program);

}  // namespace shardline::tools
