#pragma once

#include "collectives/traffic.h"
#include "program/element_types.h"
#include "program/rank_program.h"

namespace shardline {

/// What a conversion moves between ranks: messages one after the other, and bytes leaving the rank that sends most.
/// Nothing for a slice or an owe. Derived from the schedules and plans that carry it out.
collectives::Traffic wire_traffic(const RankProgram& program, const Step& step, Index element_size);

/// Names the wire of every reduction of a bf16 array: `exchange`, by which all algorithms that hand each rank its parts
/// round once, so that the result does not depend on which of them runs.
void name_wires(RankProgram& program, const ElementTypes& types);

/// The wire bytes of all conversions of a program together.
Index wire_bytes(const RankProgram& program, const ElementTypes& types);

}  // namespace shardline
