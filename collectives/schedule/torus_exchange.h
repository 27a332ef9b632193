#pragma once

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

/// all_to_all by `ring` and `bidirectional`: blocks go from neighbour to neighbour, along one axis after the other,
/// until they reach their place. On a line every position first sends the blocks of its own, those for its neighbour
/// first, and then, step by step, what it received the step before without what was meant for itself. A block at
/// distance d crosses d links. With V the whole array over p positions and blocks of V / p^2, a one-way ring sends V (p
/// - 1) / (2p) by its link; both ways send V / 8 by each (V (1 - 1/p^2) / 8 when p is odd), the block half way round in
/// two halves. The own block is the caller's to move.
Schedule torus_all_to_all(Algorithm algorithm, const Placement& placement, const Exchange& exchange);

}  // namespace shardline::collectives
