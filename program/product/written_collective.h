#pragma once

#include "runtime/layout/notation.h"

namespace shardline {

/// What the collective that was written makes of its operand, whose axes are those of the mesh: `AllGather_X` removes X
/// from a dim, `ReduceScatter_{X,J}` pays the debt on X and shards J. Without a subscript it is over the axes that lie
/// differently in the result, and where no result is given either, over all that it can remove. Throws UsageError when
/// the collective cannot do that to the operand, or does not make the `result` that was written.
ParsedArray result_of(const ParsedCollective& collective, const ParsedArray& operand,
                      const std::optional<ParsedArray>& result, const AbstractMesh& mesh);

}  // namespace shardline
