#pragma once

#include "program/ir/rank_program.h"

namespace shardline {

// Faults of mixtures of experts. Each gives operations of a step another kernel, of the same name, and returns false if
// the program has no place for it. See faults().

/// The gradients of experts that are split over ranks count once for every such rank.
bool expert_gradient_scaled(RankProgram& program);
/// The room of an expert is counted from the sequences of a rank instead of all.
bool drop_by_rank(RankProgram& program);
/// Tokens go to the expert after the one that was chosen.
bool wrong_expert(RankProgram& program);
/// The weights of the chosen experts do not sum to one.
bool gates_not_renormalised(RankProgram& program);
/// What the chosen experts make is added without weights.
bool combine_without_gate(RankProgram& program);

}  // namespace shardline
