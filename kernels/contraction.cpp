#include "kernels/contraction.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/gemm.h"

namespace shardline::kernels {
namespace {

Index stride_of(const Subscripts& subscripts, int index, const Extents& extents) {
  const auto place = std::find(subscripts.begin(), subscripts.end(), index);
  if (place == subscripts.end()) return 0;
  Index stride = 1;
  for (auto later = place + 1; later != subscripts.end(); ++later) stride *= extents.at(*later);
  return stride;
}

/// The indices of `of` that `in` has, or with `has` false has not, in the order of `of`.
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

/// The distance between consecutive positions of `group` taken as one index, if the array holds it as one.
std::optional<Index> stride_of_group(const Subscripts& array, const Subscripts& group, const Extents& extents) {
  Index expected = stride_of(array, group.back(), extents);
  const Index last = expected;
  for (auto index = group.rbegin(); index != group.rend(); ++index) {
    if (stride_of(array, *index, extents) != expected) return std::nullopt;
    expected *= extents.at(*index);
  }
  return last;
}

/// How an array holds a matrix [rows, columns].
struct MatrixLayout {
  Transpose transpose = Transpose::no;
  Index leading = 0;
};

std::optional<MatrixLayout> matrix_layout(const Subscripts& array, const Subscripts& rows, const Subscripts& columns,
                                          const Extents& extents) {
  const auto row_stride = stride_of_group(array, rows, extents);
  const auto column_stride = stride_of_group(array, columns, extents);
  if (!row_stride || !column_stride) return std::nullopt;
  if (*column_stride == 1) return MatrixLayout{Transpose::no, *row_stride};
  if (*row_stride == 1) return MatrixLayout{Transpose::yes, *column_stride};
  return std::nullopt;
}

/// The indices of a product of matrices by their part in it.
struct Groups {
  Subscripts batch, m, n, k;
};

/// The contracted indices in the order that leaves fewer elements to be copied.
Subscripts contracted_order(const Subscripts& a, const Subscripts& b, const Groups& groups, const Extents& extents) {
  const auto copied = [&](const Subscripts& k) {
    return (matrix_layout(a, groups.m, k, extents) ? 0 : count_elements(a, extents)) +
           (matrix_layout(b, k, groups.n, extents) ? 0 : count_elements(b, extents));
  };
  const Subscripts by_a = select(groups.k, a, true);
  Subscripts by_b = select(b, groups.k, true);
  return copied(by_b) < copied(by_a) ? by_b : by_a;
}

/// An operand as a matrix, in place or copied.
template <class T>
struct Matrix {
  Term<const T> term;
  MatrixLayout layout;
  Scratch<T> copy;
};

template <class T>
Matrix<T> as_matrix(const Term<const T>& term, const Subscripts& batch, const Subscripts& rows,
                    const Subscripts& columns, const Extents& extents) {
  if (const auto layout = matrix_layout(term.subscripts, rows, columns, extents)) return {term, *layout, nullptr};
  Scratch<T> copy = make_scratch<T>(count_elements(term.subscripts, extents));
  const Term<T> permuted{copy.get(), concatenate(batch, rows, columns)};
  copy_or_sum(term, permuted, extents);
  return {{permuted.data, permuted.subscripts}, {Transpose::no, count_elements(columns, extents)}, std::move(copy)};
}

/// Multiplies into a result that holds [m, n] or [n, m] as `layout` says; the latter as n x m = (n x k)(k x m).
template <class T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, const Term<T>& out, const MatrixLayout& layout,
              const Groups& groups, const Extents& extents) {
  const auto flip = [](Transpose t) { return t == Transpose::yes ? Transpose::no : Transpose::yes; };
  GemmShape shape{.a = a.layout.transpose,
                  .b = b.layout.transpose,
                  .m = count_elements(groups.m, extents),
                  .n = count_elements(groups.n, extents),
                  .k = count_elements(groups.k, extents),
                  .lda = a.layout.leading,
                  .ldb = b.layout.leading,
                  .ldc = layout.leading};
  const bool swapped = layout.transpose == Transpose::yes;
  if (swapped) {
    shape = {flip(shape.b), flip(shape.a), shape.n, shape.m, shape.k, shape.ldb, shape.lda, shape.ldc};
  }
  const auto batch = make_loops(groups.batch, {out.subscripts, a.term.subscripts, b.term.subscripts}, extents);
  for_each_position(batch, {}, [&](const Offsets& offsets) {
    const T* left = a.term.data + offsets[1];
    const T* right = b.term.data + offsets[2];
    if (swapped) std::swap(left, right);
    gemm<T>(shape, T(1), left, right, T(0), out.data + offsets[0]);
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

std::vector<Loop> make_loops(const Subscripts& indices, const std::vector<Subscripts>& arrays, const Extents& extents) {
  std::vector<Loop> loops;
  for (const int index : indices) {
    Loop loop{.extent = extents.at(index)};
    for (std::size_t i = 0; i < arrays.size(); ++i) loop.strides[i] = stride_of(arrays[i], index, extents);
    loops.push_back(loop);
  }
  return loops;
}

template <class T>
void copy_or_sum(const Term<const T>& from, const Term<T>& out, const Extents& extents) {
  const std::array<const T*, 1> operands{from.data};
  sum_of_products<T>(make_loops(from.subscripts, {out.subscripts, from.subscripts}, extents), operands, out.data);
}

template <class T>
void contract_by_gemm(const Term<const T>& a, const Term<const T>& b, const Term<T>& out, const Extents& extents) {
  Groups groups;
  groups.batch = select(select(out.subscripts, a.subscripts, true), b.subscripts, true);
  groups.m = select(out.subscripts, b.subscripts, false);
  groups.n = select(out.subscripts, a.subscripts, false);
  groups.k = select(a.subscripts, out.subscripts, false);
  groups.k = contracted_order(a.subscripts, b.subscripts, groups, extents);
  const Matrix<T> left = as_matrix(a, groups.batch, groups.m, groups.k, extents);
  const Matrix<T> right = as_matrix(b, groups.batch, groups.k, groups.n, extents);
  if (const auto layout = matrix_layout(out.subscripts, groups.m, groups.n, extents)) {
    return multiply(left, right, out, *layout, groups, extents);
  }
  const Scratch<T> product = make_scratch<T>(count_elements(out.subscripts, extents));
  const Term<T> ordered{product.get(), concatenate(groups.batch, groups.m, groups.n)};
  multiply(left, right, ordered, {Transpose::no, count_elements(groups.n, extents)}, groups, extents);
  copy_or_sum<T>({ordered.data, ordered.subscripts}, out, extents);
}

template void copy_or_sum(const Term<const float>&, const Term<float>&, const Extents&);
template void copy_or_sum(const Term<const double>&, const Term<double>&, const Extents&);
template void contract_by_gemm(const Term<const float>&, const Term<const float>&, const Term<float>&, const Extents&);
template void contract_by_gemm(const Term<const double>&, const Term<const double>&, const Term<double>&,
                               const Extents&);

}  // namespace shardline::kernels
