#pragma once

#include "program/ops/expert_places.h"
#include "program/ops/table.h"

namespace shardline {

/// What a run tells of its routing. Sums over the sequences; where B is split, the ranks owe them.
struct RoutedCounts {
  ArrayId routed = -1;   ///< [R]: choices of each expert
  ArrayId dropped = -1;  ///< [R]: those of them that had no place
};

/// Counts the choices that routing.load has.
RoutedCounts expert_load(Program& program, const std::string& name, const ExpertRouting& routing);

/// The row of this operation in operation_kinds().
OperationKind expert_load_kind();

}  // namespace shardline
