#include "kernels/einsum/contraction.h"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// The indices of `of` that are in `in` (or, with `has` false, not in `in`), in the order of `of`.
Subscripts select(const Subscripts& of, const Subscripts& in, bool has) {
  Subscripts chosen;
  std::copy_if(of.begin(), of.end(), std::back_inserter(chosen), [&](int i) { return contains(in, i) == has; });
  return chosen;
}

Subscripts concatenate(Subscripts a, const Subscripts& b, const Subscripts& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

/// The stride of `group` as one index, if the array stores it as one.
std::optional<Index> stride_of_group(const Layout& array, const Subscripts& group, const Extents& extents) {
  Index expected = array.stride(group.back());
  const Index last = expected;
  for (std::size_t i = group.size(); i-- > 0;) {
    if (array.stride(group[i]) != expected) return std::nullopt;
    expected *= extents.at(group[i]);
  }
  return last;
}

/// How an array stores a matrix [rows, columns].
struct MatrixLayout {
  Transpose transpose = Transpose::no;
  Index leading = 0;
};

std::optional<MatrixLayout> matrix_layout(const Layout& array, const Subscripts& rows, const Subscripts& columns,
                                          const Extents& extents) {
  if (rows.empty()) {  // one row: a vector
    const auto stride = stride_of_group(array, columns, extents);
    if (!stride) return std::nullopt;
    if (*stride == 1) return MatrixLayout{Transpose::no, count_elements(columns, extents)};
    return MatrixLayout{Transpose::yes, *stride};
  }
  const auto row_stride = stride_of_group(array, rows, extents);
  const auto column_stride = stride_of_group(array, columns, extents);
  if (!row_stride || !column_stride) return std::nullopt;
  if (*column_stride == 1) return MatrixLayout{Transpose::no, *row_stride};
  if (*row_stride == 1) return MatrixLayout{Transpose::yes, *column_stride};
  return std::nullopt;
}

/// The role of each index in a product of matrices. `batch` and `repeat` are looped over: each
/// position of `batch` is a separate product, those of `repeat` add up.
struct Groups {
  Subscripts batch, repeat, m, n, k;
};

/// True if `inner` follows `outer` in the array, but only a window of `inner` is used. Then they
/// are not one index.
bool gap_between(int outer, int inner, const Layout& array, const Extents& extents) {
  const auto place = std::find(array.subscripts.begin(), array.subscripts.end(), outer);
  if (place == array.subscripts.end() || place + 1 == array.subscripts.end() || *(place + 1) != inner) return false;
  return array.stride(outer) != array.stride(inner) * extents.at(inner);
}

/// If only a window of an index is used, moves the indices before it to `loops`. The rest of
/// `group` is one index.
void split_at_window(Subscripts& group, Subscripts& loops, const std::vector<Layout>& arrays, const Extents& extents) {
  for (std::size_t i = group.size(); i-- > 1;) {
    const bool gap = std::any_of(arrays.begin(), arrays.end(), [&](const Layout& array) {
      return gap_between(group[i - 1], group[i], array, extents);
    });
    if (!gap) continue;
    const auto first = group.begin() + static_cast<std::ptrdiff_t>(i);
    loops.insert(loops.end(), group.begin(), first);
    group.erase(group.begin(), first);
    return;
  }
}

/// `groups` with the contracted indices in the order of `a` or of `b`: the order that copies fewer
/// elements.
Groups order_contracted(const Layout& a, const Layout& b, const Groups& groups, const Extents& extents) {
  const auto ordered = [&](Subscripts k) {
    Groups result = groups;
    result.k = std::move(k);
    split_at_window(result.k, result.repeat, {a, b}, extents);
    return result;
  };
  const auto copied = [&](const Groups& by) {
    return (matrix_layout(a, by.m, by.k, extents) ? 0 : count_elements(a.subscripts, extents)) +
           (matrix_layout(b, by.k, by.n, extents) ? 0 : count_elements(b.subscripts, extents));
  };
  Groups by_a = ordered(select(groups.k, a.subscripts, true));
  Groups by_b = ordered(select(b.subscripts, groups.k, true));
  return copied(by_b) < copied(by_a) ? by_b : by_a;
}

/// The role of each index in out = a b.
Groups group_indices(const Layout& a, const Layout& b, const Layout& out, const Extents& extents) {
  Groups groups;
  groups.batch = select(select(out.subscripts, a.subscripts, true), b.subscripts, true);
  groups.m = select(out.subscripts, b.subscripts, false);
  groups.n = select(out.subscripts, a.subscripts, false);
  groups.k = select(a.subscripts, out.subscripts, false);
  split_at_window(groups.m, groups.batch, {a, out}, extents);
  split_at_window(groups.n, groups.batch, {b, out}, extents);
  return order_contracted(a, b, groups, extents);
}

/// An operand as a matrix, in place or copied.
template <class T>
struct Matrix {
  Term<const T> term;
  MatrixLayout layout;
  Scratch<T> copy;
};

template <class T>
Matrix<T> as_matrix(const Term<const T>& term, const Groups& groups, const Subscripts& rows, const Subscripts& columns,
                    const Extents& extents) {
  if (const auto layout = matrix_layout(term.layout, rows, columns, extents)) return {term, *layout, nullptr};
  const Subscripts& own = term.layout.subscripts;
  const Subscripts looped = concatenate(select(groups.batch, own, true), select(groups.repeat, own, true), {});
  Scratch<T> copy = make_scratch<T>(count_elements(own, extents));
  const Term<T> permuted{copy.get(), dense_layout(concatenate(looped, rows, columns), extents)};
  copy_or_sum<T, T>(term, permuted, extents);
  return {{permuted.data, permuted.layout}, {Transpose::no, count_elements(columns, extents)}, std::move(copy)};
}

/// The product of matrices that are stored as `a`, `b` and `out` say. If the result is stored [n, m], it is n x m =
/// (n x k)(k x m), so that B comes first.
GemmShape gemm_shape(const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& out, const Groups& groups,
                     const Extents& extents) {
  const auto flip = [](Transpose t) { return t == Transpose::yes ? Transpose::no : Transpose::yes; };
  const GemmShape shape{.a = a.transpose,
                        .b = b.transpose,
                        .m = count_elements(groups.m, extents),
                        .n = count_elements(groups.n, extents),
                        .k = count_elements(groups.k, extents),
                        .lda = a.leading,
                        .ldb = b.leading,
                        .ldc = out.leading};
  if (out.transpose == Transpose::no) return shape;
  return {flip(shape.b), flip(shape.a), shape.n, shape.m, shape.k, shape.ldb, shape.lda, shape.ldc};
}

/// Multiplies into a result [m, n] or [n, m], as `layout` says.
template <class S, class R>
void multiply(const Matrix<S>& a, const Matrix<S>& b, const Term<R>& out, const MatrixLayout& layout,
              const Groups& groups, const Extents& extents, bool accumulate, const Windowed* windowed) {
  const GemmShape shape = gemm_shape(a.layout, b.layout, layout, groups, extents);
  const bool swapped = layout.transpose == Transpose::yes;
  const auto shared = [&](const Matrix<S>& operand) {
    return windowed != nullptr && operand.copy == nullptr && !contains(operand.term.layout.subscripts, windowed->index);
  };
  GemmOptions options{.shares_a = shared(swapped ? b : a), .kept = shared(swapped ? a : b) ? windowed->kept : nullptr};
  const std::vector<Layout> arrays{out.layout, a.term.layout, b.term.layout};
  const std::vector<Loop> batch = make_loops(groups.batch, arrays, extents);
  const std::vector<Loop> repeat = make_loops(groups.repeat, arrays, extents);
  for_each_position(batch, {}, [&](const Offsets& product) {
    options.accumulate = accumulate;
    for_each_position(repeat, product, [&](const Offsets& offsets) {
      const S* left = a.term.data + offsets[1];
      const S* right = b.term.data + offsets[2];
      if (swapped) std::swap(left, right);
      gemm(shape, left, right, out.data + offsets[0], options);
      options.accumulate = true;
    });
  });
}

}  // namespace

bool contains(const Subscripts& subscripts, int index) {
  return std::find(subscripts.begin(), subscripts.end(), index) != subscripts.end();
}

Index count_elements(const Subscripts& subscripts, const Extents& extents) {
  Index count = 1;
  for (const int index : subscripts) count *= extents.at(index);
  return count;
}

Index Layout::stride(int index) const {
  const auto place = std::find(subscripts.begin(), subscripts.end(), index);
  return place == subscripts.end() ? 0 : strides[static_cast<std::size_t>(place - subscripts.begin())];
}

Index Extents::at(int index) const {
  const auto found = find(index);
  SHARDLINE_CHECK(found != end(), "einsum: index {} has no extent", index);
  return found->second;
}

void Extents::narrow(int index, Index extent) {
  for (Entry& entry : entries_) {
    if (entry.first == index) entry.second = extent;
  }
}

Layout dense_layout(Subscripts subscripts, const Extents& extents) {
  Layout layout{std::move(subscripts), {}};
  layout.strides.resize(layout.subscripts.size());
  Index stride = 1;
  for (std::size_t d = layout.subscripts.size(); d-- > 0;) {
    layout.strides[d] = stride;
    stride *= extents.at(layout.subscripts[d]);
  }
  return layout;
}

std::vector<Loop> make_loops(const Subscripts& indices, const std::vector<Layout>& arrays, const Extents& extents) {
  std::vector<Loop> loops;
  for (const int index : indices) {
    Loop loop{.extent = extents.at(index)};
    for (std::size_t i = 0; i < arrays.size(); ++i) loop.strides[i] = arrays[i].stride(index);
    loops.push_back(loop);
  }
  return loops;
}

template <class S, class R>
void copy_or_sum(const Term<const S>& from, const Term<R>& out, const Extents& extents, bool accumulate) {
  const std::array<const S*, 1> operands{from.data};
  sum_of_products<S, R>(make_loops(from.layout.subscripts, {out.layout, from.layout}, extents), operands, out.data,
                        accumulate);
}

template <class S, class R>
void contract_by_gemm(const Term<const S>& a, const Term<const S>& b, const Term<R>& out, const Extents& extents,
                      bool accumulate, const Windowed* windowed) {
  using Sum = SumOf<R>;
  const Groups groups = group_indices(a.layout, b.layout, out.layout, extents);
  const Matrix<S> left = as_matrix(a, groups, groups.m, groups.k, extents);
  const Matrix<S> right = as_matrix(b, groups, groups.k, groups.n, extents);
  const bool rounds_once = std::is_same_v<R, Sum> || count_elements(groups.repeat, extents) == 1;
  const auto layout = matrix_layout(out.layout, groups.m, groups.n, extents);
  if (layout && rounds_once) return multiply(left, right, out, *layout, groups, extents, accumulate, windowed);
  const Scratch<Sum> product = make_scratch<Sum>(count_elements(out.layout.subscripts, extents));
  const Term<Sum> ordered{product.get(), dense_layout(concatenate(groups.batch, groups.m, groups.n), extents)};
  multiply(left, right, ordered, {Transpose::no, count_elements(groups.n, extents)}, groups, extents, false, windowed);
  copy_or_sum<Sum, R>({ordered.data, ordered.layout}, out, extents, accumulate);
}

GemmShape shape_of_products(const Subscripts& a, const Subscripts& b, const Subscripts& out, const Extents& extents) {
  const auto whole = [&](Subscripts subscripts) {
    std::erase_if(subscripts, [&](int index) { return extents.at(index) == 1; });
    return dense_layout(std::move(subscripts), extents);
  };
  const std::array<Layout, 3> arrays{whole(a), whole(b), whole(out)};
  const Groups groups = group_indices(arrays[0], arrays[1], arrays[2], extents);
  const auto stored = [&](std::size_t array, const Subscripts& rows, const Subscripts& columns) {
    const MatrixLayout copied{Transpose::no, count_elements(columns, extents)};
    return matrix_layout(arrays[array], rows, columns, extents).value_or(copied);
  };
  return gemm_shape(stored(0, groups.m, groups.k), stored(1, groups.k, groups.n), stored(2, groups.m, groups.n), groups,
                    extents);
}

#define SHARDLINE_INSTANTIATE(S, R) \
  template void copy_or_sum(const Term<const S>&, const Term<R>&, const Extents&, bool);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)
SHARDLINE_INSTANTIATE(float, BFloat16)
#undef SHARDLINE_INSTANTIATE

#define SHARDLINE_INSTANTIATE(S, R)                                                                                \
  template void contract_by_gemm(const Term<const S>&, const Term<const S>&, const Term<R>&, const Extents&, bool, \
                                 const Windowed*);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)
SHARDLINE_INSTANTIATE(BFloat16, BFloat16)

}  // namespace shardline::kernels
