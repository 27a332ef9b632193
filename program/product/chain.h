#pragma once

#include <string>
#include <vector>

namespace shardline {

/// Names of the dims of an array.
using DimNames = std::vector<std::string>;

/// The dims of what each product of a chain makes, operands multiplied from left to right; the last are those of the
/// result. One product fewer than operands, of which there are at least two.
///
/// A product sums over the dims that both its factors have and that neither a later operand nor the result has. Where
/// it has none of these, but shares a dim with a later operand, it sums over that one, and the later operand brings a
/// new dim of the same name: D of `In[B, D] * W_in[D, F] * W_out[F, D] -> Out[B, D]`. It does so only if then every
/// product up to the end sums over something; otherwise the dim is kept, as in `A[I] * B[I] * C[I] -> D[I]`. Throws
/// UsageError when more than one choice of such dims is possible.
std::vector<DimNames> chain_dims(const std::vector<DimNames>& operands, const DimNames& result);

/// True when dim `dim` of operand number `operand` is summed over in a chain whose products make `made`.
bool summed_in_chain(const std::vector<DimNames>& made, std::size_t operand, const std::string& dim);

}  // namespace shardline
