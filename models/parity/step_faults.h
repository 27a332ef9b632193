#pragma once

#include "program/ir/rank_program.h"

namespace shardline {

// Faults of micro-batches, of stages and of what is computed again. Each changes the written-out program of a step, or
// of one stage of it, and returns false if the program has no place for it. See faults().

/// What the other stages found of the squared norm is left out.
bool norm_of_a_stage_missing(RankProgram& program);
/// Each micro-batch's loss is a mean over its own tokens.
bool loss_per_micro_batch(RankProgram& program);
/// The sum of a gradient starts again with every micro-batch.
bool last_micro_batch_only(RankProgram& program);
/// The sum of a gradient has its first part twice, as if the step before had left it there.
bool sum_not_cleared(RankProgram& program);
/// Two micro-batches are sent to the next stage in the other's place.
bool send_order(RankProgram& program);
/// The second micro-batch reads the labels of the first.
bool wrong_micro_batch(RankProgram& program);
/// What is computed again is computed in another way.
bool recomputed_differently(RankProgram& program);

}  // namespace shardline
