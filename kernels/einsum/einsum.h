#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/gemm/kept_operands.h"
#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// The index of every dim of an array: small non-negative numbers with a meaning inside one einsum
/// only.
using Subscripts = std::vector<int>;

/// An array and the index of each of its dims.
template <class T>
struct EinsumOperand {
  View<const T> view;
  Subscripts subscripts;
};

/// The positions of one index that an einsum is restricted to.
struct Window {
  int index = 0;
  Range range;
  bool accumulate = false;  ///< add to the result instead of overwriting it
};

/// out[out_subscripts] = sum over all other indices of the product of 1 to 3 operands. Every index of the result occurs
/// in an operand; no array has an index twice; an index that one operand alone has may be summed. Extents may be zero
/// (a sum over nothing is 0).
///
/// Two operands become (batched) matrix products. No copy is needed if each array holds its row indices, its column
/// indices and the contracted indices as groups, each group together and in one order. An array that does not is first
/// permuted into scratch memory. Sums of elementwise products are computed directly. Three operands are contracted in
/// pairs, unless one array has all indices. Throws Error on subscripts that break the rules above or extents that
/// disagree.
///
/// `window` restricts one index to a range; the arrays are still those of the whole einsum. If the result has the
/// index, only the positions in the range are written. Otherwise the result becomes the sum over the range. With
/// `accumulate` this sum is added to the result, so that windows that cover the index give the whole einsum. Matrix
/// products read the part of each array in place; an array that needs a permutation is permuted for that part alone.
/// Throws Error on an index that no operand has, and on a range outside of it.
///
/// Whoever computes one window after the other gives `kept`, the same in each: what they share is prepared once.
///
/// S float or double, and R the same; or S BFloat16, and R BFloat16 or float. Sums of bf16 are in f32, and a result in
/// bf16 is rounded once. So it cannot be accumulated: Error.
template <class S, class R>
void einsum(std::span<const EinsumOperand<S>> operands, View<R> out, const Subscripts& out_subscripts,
            const std::optional<Window>& window = {}, KeptOperands* kept = nullptr);

/// As many operations per position of the full index space as there are operands (one: an addition; two: a
/// multiplication and an addition); every operand and the result once. extents[i] is the extent of index i.
Cost einsum_cost(std::span<const Index> extents, std::span<const Subscripts> operands, const Subscripts& out,
                 Index element_size);

}  // namespace shardline::kernels
