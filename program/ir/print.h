#pragma once

#include <string>
#include <vector>

#include "program/ir/rank_program.h"

namespace shardline {

/// One step in the book's notation: "W_in[D, F_Y] = AllGather_X(W_in[D_X, F_Y])",
/// "Tmp[B_X, F] = In[B_X, D] *_D W_in[D, F]" (the subscript lists the contracted indices).
std::string to_string(const RankProgram& program, const Step& step);

/// All steps, one line each.
std::vector<std::string> lines(const RankProgram& program);

}  // namespace shardline
