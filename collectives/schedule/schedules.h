#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

/// The schedule of each collective by each algorithm. Pure: nothing here moves anything.

/// The steps of a position. `chunks` are the blocks' places in the output, by position; the input is the own block. The
/// own block is not placed in the output: no position but this one needs it there, so the caller does that. Throws
/// UsageError when there is no such algorithm.
Schedule all_gather_schedule(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// The steps of a position. `chunks` are the blocks' places in the input, by position; the output is the own block,
/// which may be the own chunk of the input. Does not place the result when there is one position only. Throws
/// UsageError when there is no such algorithm.
Schedule reduce_scatter_schedule(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// The steps of a position for an array of `elements`. Right also when input and output are the same memory. Does not
/// place the result when there is one position only. Throws UsageError when there is no such algorithm.
Schedule all_reduce_schedule(Algorithm algorithm, const Placement& placement, Index elements);

/// The steps of a position that exchanges a chunk with every other one; sizes may all differ. The own chunk is left to
/// the caller. Throws UsageError when there is no such algorithm.
Schedule all_to_all_schedule(Algorithm algorithm, const Placement& placement, const Exchange& exchange);

/// One step of `ring`: `send_size` elements to position + offset, `receive_size` from position - offset. Empty, and the
/// copy left to the caller, when offset is a multiple of the positions. Throws UsageError on other algorithms.
Schedule shift_schedule(Algorithm algorithm, const Placement& placement, Index send_size, Index receive_size,
                        Index offset);

}  // namespace shardline::collectives
