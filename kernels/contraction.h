#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kernels/einsum.h"
#include "kernels/loop_nest.h"
#include "runtime/base/shape.h"

/// The parts of einsum, past its checks: every extent is greater than 1.
namespace shardline::kernels {

using Extents = std::map<int, Index>;

/// A contiguous row-major array of an einsum, `T` const for operands.
template <class T>
struct Term {
  T* data = nullptr;
  Subscripts subscripts;
};

/// Memory that is not initialised.
template <class T>
using Scratch = std::unique_ptr<T[]>;
template <class T>
Scratch<T> make_scratch(Index count) {
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
}

bool contains(const Subscripts& subscripts, int index);

/// Number of elements of an array with these subscripts.
Index count_elements(const Subscripts& subscripts, const Extents& extents);

/// The loops over `indices` of up to four arrays, the result's subscripts first.
std::vector<Loop> make_loops(const Subscripts& indices, const std::vector<Subscripts>& arrays, const Extents& extents);

/// out = permuted copy of `from`, or its sum over the indices that `out` lacks.
template <class T>
void copy_or_sum(const Term<const T>& from, const Term<T>& out, const Extents& extents);

/// The product of two operands as matrix products over the indices that all three arrays have. Requires at least one
/// index that only `a` and the result have, one that only `b` and the result have, one that only `a` and `b` have, and
/// none that only one array has.
template <class T>
void contract_by_gemm(const Term<const T>& a, const Term<const T>& b, const Term<T>& out, const Extents& extents);

}  // namespace shardline::kernels
