#pragma once

#include <string>
#include <vector>

namespace shardline {

/// Names of the dims of an array.
using DimNames = std::vector<std::string>;

/// The dims of the result of each product in a chain. Operands are multiplied from left to right;
/// the last dims are those of `result`. There are at least two operands, and one product fewer than
/// operands.
///
/// A product sums over the dims of both its factors that no later operand and not the result has.
/// If there are none, but it shares a dim with a later operand, it sums over that dim; the later
/// operand brings a new dim of the same name. Example: D of `In[B, D] * W_in[D, F] * W_out[F, D] ->
/// Out[B, D]`. It does so only if every product up to the end then sums over something. Otherwise
/// the dim is kept, as in `A[I] * B[I] * C[I] -> D[I]`. Throws UsageError if several choices of
/// such dims are possible.
std::vector<DimNames> chain_dims(const std::vector<DimNames>& operands, const DimNames& result);

/// True if a chain whose products make `made` sums over dim `dim` of operand number `operand`.
bool summed_in_chain(const std::vector<DimNames>& made, std::size_t operand, const std::string& dim);

}  // namespace shardline
