#pragma once

#include <string>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/schedule.h"

namespace shardline {

/// The lines of the program (see lines()). A line that is fused says with what: a collective matmul names its products,
/// a ring the computation that it serves.
std::vector<std::string> fused_lines(const RankProgram& program, const ProgramSchedule& schedule);

}  // namespace shardline
