#pragma once

#include <vector>

#include "program/ir/rank_program.h"
#include "program/price/estimate.h"

namespace shardline {

/// Ring attention (Liu et al., "Ring Attention with Blockwise Transformers"): a computation takes blocks of keys and
/// values one after another while they go round the ranks, instead of all at once after a gather. The gradients of keys
/// and values travel with them, instead of being scattered at the end. No rank holds all keys.
struct RingFusion {
  int computation = -1;           ///< step number; its kernel is blockwise
  std::vector<int> gathers = {};  ///< steps that are left out: they would make its operands
  /// By gather: the operand that it would make.
  std::vector<std::size_t> operands = {};
  std::vector<int> scatters = {};  ///< steps that are left out: they would reduce its results
  /// By scatter: the result that it would reduce.
  std::vector<std::size_t> results = {};
  Axes axes = {};  ///< of all these collectives
  int dim = 0;     ///< of the arrays that travel: it is cut into blocks; 0 or 1
  /// Work of a piece, between two polls; as many pieces make the segments of a block. Not yet set by possible_rings().
  Flops panel = {};
};

/// Computations that read the same gathered arrays. All of them become rings, or none.
using RingGroup = std::vector<RingFusion>;

/// The rings that a program allows. A gathered array may be read by nothing else. The kernel must be blockwise in the
/// gathered index, and each axis must split its rows among the ranks. In the order of the program.
std::vector<RingGroup> possible_rings(const RankProgram& program);

/// The arrays that a ring needs in addition to its operands and results, on `rank`: blocks on their way, and the state.
Bytes ring_bytes(const RankProgram& program, const RingFusion& ring, Index rank);

/// Buffers for the blocks on their way, if `positions` ranks make the ring: the block that came, and the next one.
Index ring_buffers(Index positions);

/// The time for which the links move what travels. `estimates` are those of the steps. Gradients travel as sums.
Seconds ring_moves(const RankProgram& program, const RingFusion& ring, const std::vector<StepEstimate>& estimates);

/// How often the rings of a program move what a step would move that they leave out: once for each of them, and for
/// gradients in bf16 twice, as they travel as f32. 1 for all other steps.
double times_moved(const RankProgram& program, const std::vector<RingFusion>& rings, int step);

/// The time of a ring whose computation takes `work` and whose arrays move for `moving`: the longer of the two, plus
/// one segment of the shorter; both, if moving needs the cores.
Seconds ring_time(Seconds work, Seconds moving, const RingFusion& ring, const RankProgram& program,
                  const roofline::Hardware& hardware);

/// A block of a ring travels in at least so many messages.
inline constexpr Index kLeastSegments = 4;

/// The array of the state of the ring that can lie in the memory of result `result`. -1: none can.
int state_in_result(const RankProgram& program, const RingFusion& ring, std::size_t result);

}  // namespace shardline
