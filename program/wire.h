#pragma once

#include <map>
#include <tuple>

#include "collectives/traffic.h"
#include "program/element_types.h"
#include "program/rank_program.h"

namespace shardline {

/// What is known of reshards on one mesh: elements that the busiest rank sends, by shape and both layouts.
using ReshardMemo = std::map<std::tuple<Shape, Sharding, Sharding>, Index>;

/// What a conversion moves between ranks: messages one after the other, and bytes leaving the rank that sends most.
/// Nothing for a slice or an owe. It is what the schedules and plans that carry it out derive; for a reshard on a mesh
/// of more than 64 ranks, what the busiest of 64 of them receives. `memo`, where there is one, is asked first and told.
collectives::Traffic wire_traffic(const RankProgram& program, const Step& step, Index element_size,
                                  ReshardMemo* memo = nullptr);

/// Names the wire of every reduction of a bf16 array. By `exchange` all algorithms that hand each rank its parts round
/// once, so that the result does not depend on which of them runs.
void name_wires(RankProgram& program, const ElementTypes& types, collectives::Wire wire = collectives::Wire::exchange);

}  // namespace shardline
