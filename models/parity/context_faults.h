#pragma once

#include "program/ir/rank_program.h"
#include "program/plan/schedule.h"

namespace shardline {

// Faults of sequences that ranks share, and of packed documents. Each gives operations of a step another kernel, of the
// same name, and returns false if the program has no place for it. See faults().

/// Rope counts positions from the earliest token of a rank's own block.
bool position_offset(RankProgram& program);
/// Queries see the documents before their own. Rope counts as before.
bool document_leak(RankProgram& program);
/// A block of keys with larger scores joins the state of a ring as if the scores before had been as large. `schedule`
/// is that of the program; so below.
bool ring_not_rescaled(RankProgram& program, const ProgramSchedule& schedule);
/// Keys of other ranks are taken to stand where the keys of a rank's own block stand.
bool wrong_hop(RankProgram& program, const ProgramSchedule& schedule);

}  // namespace shardline
