#pragma once

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

/// all_to_all by `ring` and `bidirectional`: blocks go from neighbour to neighbour, along one axis after the other,
/// until they reach their position. In the first round of a line every position sends its own blocks, the block for its
/// neighbour first. In each later round it sends the blocks that it received in the round before, except its own. A
/// block at distance d crosses d links. V is the whole array, over p positions in blocks of V / p^2. A one-way ring
/// sends V (p - 1) / (2p) by its link. Both ways send V / 8 by each link (V (1 - 1/p^2) / 8 when p is odd), and the
/// block half way round goes in two halves. The caller copies the own block.
Schedule torus_all_to_all(Algorithm algorithm, const Placement& placement, const Exchange& exchange);

}  // namespace shardline::collectives
