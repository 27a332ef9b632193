#pragma once

#include "runtime/layout/notation.h"

namespace shardline {

/// The result of a written collective on its operand, whose axes are those of the mesh.
/// `AllGather_X` removes X from a dim. `ReduceScatter_{X,J}` pays the debt on X and shards J.
/// Without a subscript it is over the axes that lie differently in the result; without a result
/// either, over all axes that it can remove. Throws UsageError if the collective cannot act so on
/// the operand, or does not make the written `result`.
ParsedArray result_of(const ParsedCollective& collective, const ParsedArray& operand,
                      const std::optional<ParsedArray>& result, const AbstractMesh& mesh);

}  // namespace shardline
