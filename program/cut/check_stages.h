#pragma once

#include <vector>

#include "program/ir/rank_program.h"

namespace shardline {

/// Checks that the programs of all stages together do what the uncut program does. It shares no code with those who cut
/// and write out. It walks all programs at once, with sends that block until they are received, and follows what each
/// version is: which step made it from what. Throws Error, in one line, if
/// - a step reads what is not there;
/// - the two ends of a move differ in number, arrays or layouts, or stages wait for each other for ever;
/// - an output or updated state of the uncut program is on no stage, or is made in another way there.
/// Pure; takes linear time.
void check_stages(const RankProgram& uncut, const std::vector<const RankProgram*>& stages);

}  // namespace shardline
