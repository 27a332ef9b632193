#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/einsum/einsum.h"
#include "kernels/einsum/loop_nest.h"
#include "kernels/gemm/gemm.h"
#include "runtime/base/shape.h"

/// The parts of einsum after its checks: every extent is positive.
namespace shardline::kernels {

/// The extent of every index of an einsum: a small map with linear search.
class Extents {
 public:
  using Entry = std::pair<int, Index>;
  using Entries = std::vector<Entry>;

  Entries::const_iterator begin() const { return entries_.begin(); }
  Entries::const_iterator end() const { return entries_.end(); }
  Entries::const_iterator find(int index) const {
    return std::find_if(begin(), end(), [&](const Entry& entry) { return entry.first == index; });
  }
  /// Throws Error if there is no such index.
  Index at(int index) const;
  /// Does nothing if the index is known already.
  void add(int index, Index extent) {
    if (find(index) == end()) entries_.emplace_back(index, extent);
  }
  /// The index must be known.
  void narrow(int index, Index extent);

 private:
  Entries entries_;
};

/// The indices of an array, slowest first, and the stride in elements along each of them. The array
/// is a whole row-major array, or a window of a larger one. Indices of extent 1 may be left out.
struct Layout {
  Subscripts subscripts;
  std::vector<Index> strides;

  /// 0 if the array does not have the index.
  Index stride(int index) const;
};

/// A whole row-major array.
Layout dense_layout(Subscripts subscripts, const Extents& extents);

/// An array of an einsum, `T` const for operands.
template <class T>
struct Term {
  T* data = nullptr;
  Layout layout;
};

/// Memory that is not initialised.
template <class T>
using Scratch = std::unique_ptr<T[]>;
template <class T>
Scratch<T> make_scratch(Index count) {
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
}

/// The index of which an einsum computes one window after the other, and what the windows share.
struct Windowed {
  int index;
  KeptOperands* kept;
};

bool contains(const Subscripts& subscripts, int index);

/// Number of positions of these subscripts.
Index count_elements(const Subscripts& subscripts, const Extents& extents);

/// The loops over `indices` of up to four arrays, the result's layout first.
std::vector<Loop> make_loops(const Subscripts& indices, const std::vector<Layout>& arrays, const Extents& extents);

/// out = a permuted copy of `from`, or its sum over the indices that `out` lacks. `accumulate` adds
/// it to `out`. A sum needs an `out` of other type than bf16.
template <class S, class R>
void copy_or_sum(const Term<const S>& from, const Term<R>& out, const Extents& extents, bool accumulate = false);

/// The product of two operands as matrix products, looped over the indices that all three arrays
/// have. `accumulate` adds it to `out`. `windowed` says of which larger product this is a window; null if of none.
/// Requires: at least one index of `b` and the result only, one of `a` and `b` only, and none in a single array only.
/// Without an index of `a` and the result only, the products are of a vector and a matrix. A result in bf16 is rounded
/// once, from sums in f32, and not accumulated.
template <class S, class R>
void contract_by_gemm(const Term<const S>& a, const Term<const S>& b, const Term<R>& out, const Extents& extents,
                      bool accumulate, const Windowed* windowed);

/// The matrix products that contract_by_gemm() makes of whole arrays with these indices, `out` whole too. `extents` has
/// every index. Some index must be contracted, and `b` must have another one of more than one element. If an operand is
/// a vector, it is `a`, as the einsum passes it.
GemmShape shape_of_products(const Subscripts& a, const Subscripts& b, const Subscripts& out, const Extents& extents);

}  // namespace shardline::kernels
