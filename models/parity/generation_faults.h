#pragma once

#include "program/ir/rank_program.h"

namespace shardline {

// Faults of caches. Each gives operations of prefill or decode another kernel, of the same name, and returns false if
// the program has no place for it. See faults().

/// Keys and values go into the place of the next position.
bool cache_place_off_by_one(RankProgram& program);
/// A rank that has some places of the caches writes as if positions lay in order over the ranks, and not in turn.
bool cache_places_in_order(RankProgram& program);
/// Decode turns queries and keys by the position after the right one.
bool decode_position_off_by_one(RankProgram& program);

}  // namespace shardline
