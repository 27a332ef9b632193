#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

/// The schedule of each collective by each algorithm. Pure: nothing here moves anything.

/// The rounds of a position. `chunks` are the places of the blocks in the output, by position. The input is the own
/// block. The schedule need not copy the own block to the output: the caller does, because no other position needs it
/// there. Throws UsageError if there is no such algorithm.
Schedule all_gather_schedule(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// The rounds of a position. `chunks` are the places of the blocks in the input, by position. The output is the own
/// block, which may be the own chunk of the input. With one position the schedule does nothing, and the caller copies.
/// Throws UsageError if there is no such algorithm.
Schedule reduce_scatter_schedule(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// The rounds of a position for an array of `elements`. Input and output may be the same memory. With one position the
/// schedule does nothing, and the caller copies. Throws UsageError if there is no such algorithm.
Schedule all_reduce_schedule(Algorithm algorithm, const Placement& placement, Index elements);

/// The rounds of a position that exchanges a chunk with every other position. All sizes may differ. The caller copies
/// the own chunk. Throws UsageError if there is no such algorithm.
Schedule all_to_all_schedule(Algorithm algorithm, const Placement& placement, const Exchange& exchange);

/// One round, for `ring`: `send_size` elements to position + offset, `receive_size` from position - offset. When offset
/// is a multiple of the positions the schedule is empty, and the caller copies. Throws UsageError on other algorithms.
Schedule shift_schedule(Algorithm algorithm, const Placement& placement, Index send_size, Index receive_size,
                        Index offset);

}  // namespace shardline::collectives
