#include "kernels/norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"

namespace shardline::kernels {
namespace {

/// NaN if the sum of squares has overflowed. 1 / infinity would be 0, and the wrong result would
/// look right.
template <class T>
double inverse_rms(T ss, const NormOptions& options) {
  if (std::isinf(ss)) return std::numeric_limits<double>::quiet_NaN();
  return 1 / std::sqrt(static_cast<double>(ss) / static_cast<double>(options.width) + options.eps);
}

/// Counts arrays like x, like a row of x and like a column of x, each once.
Cost row_cost(const Shape& x, Index operations, Index wholes, Index rows, Index columns, Index element_size) {
  const Rows extents = as_rows("norm", x);
  const Index elements = extents.rows * extents.columns;
  const Index stored = wholes * elements + rows * extents.columns + columns * extents.rows;
  return {Flops(static_cast<double>(operations * elements)), Bytes(static_cast<double>(stored * element_size))};
}

}  // namespace

template <class S>
void sum_squares_rows(View<const S> x_TD, View<SumOf<S>> ss_T) {
  using T = SumOf<S>;
  const auto [rows, columns] = as_rows("sum_squares_rows", x_TD.shape);
  check_elements("sum_squares_rows", "ss", ss_T.shape, rows);
  for (Index t = 0; t < rows; ++t) {
    const S* x = x_TD.data + t * columns;
    ss_T[t] =
        sum_lanes<T>(columns, [&](Index begin, auto count) -> Lanes<T> { return load(x + begin, count).square(); });
  }
}

template <class S>
void normalize(View<const S> x_TD, View<const SumOf<S>> ss_T, View<const SumOf<S>> w_D, const NormOptions& options,
               View<S> y_TD) {
  using T = SumOf<S>;
  const auto [rows, columns] = as_rows("normalize", x_TD.shape);
  check_elements("normalize", "ss", ss_T.shape, rows);
  check_elements("normalize", "w", w_D.shape, columns);
  check_elements("normalize", "y", y_TD.shape, rows * columns);
  for (Index t = 0; t < rows; ++t) {
    const S* x = x_TD.data + t * columns;
    S* y = y_TD.data + t * columns;
    const T r = static_cast<T>(inverse_rms(ss_T[t], options));
    for_lanes(columns, [&](Index begin, auto count) {
      store(load(x + begin, count) * r * load(w_D.data + begin, count), y + begin, count);
    });
  }
}

template <class S>
void norm_dot(View<const S> dy_TD, View<const SumOf<S>> w_D, View<const S> x_TD, View<SumOf<S>> dot_T) {
  using T = SumOf<S>;
  const auto [rows, columns] = as_rows("norm_dot", x_TD.shape);
  check_elements("norm_dot", "dy", dy_TD.shape, rows * columns);
  check_elements("norm_dot", "w", w_D.shape, columns);
  check_elements("norm_dot", "dot", dot_T.shape, rows);
  for (Index t = 0; t < rows; ++t) {
    const S* dy = dy_TD.data + t * columns;
    const S* x = x_TD.data + t * columns;
    dot_T[t] = sum_lanes<T>(columns, [&](Index begin, auto count) -> Lanes<T> {
      return load(dy + begin, count) * load(w_D.data + begin, count) * load(x + begin, count);
    });
  }
}

template <class S>
void norm_grad(View<const S> dy_TD, View<const S> x_TD, View<const SumOf<S>> ss_T, View<const SumOf<S>> w_D,
               View<const SumOf<S>> dot_T, const NormOptions& options, View<S> dx_TD, View<SumOf<S>> dw_D) {
  using T = SumOf<S>;
  const auto [rows, columns] = as_rows("norm_grad", x_TD.shape);
  check_elements("norm_grad", "dy", dy_TD.shape, rows * columns);
  check_elements("norm_grad", "ss", ss_T.shape, rows);
  check_elements("norm_grad", "w", w_D.shape, columns);
  check_elements("norm_grad", "dot", dot_T.shape, rows);
  check_elements("norm_grad", "dx", dx_TD.shape, rows * columns);
  check_elements("norm_grad", "dw", dw_D.shape, columns);
  if (!options.adds) std::fill_n(dw_D.data, columns, T(0));
  for (Index t = 0; t < rows; ++t) {
    const S* dy = dy_TD.data + t * columns;
    const S* x = x_TD.data + t * columns;
    S* dx = dx_TD.data + t * columns;
    const double inverse = inverse_rms(ss_T[t], options);
    const T r = static_cast<T>(inverse);
    const T pull = static_cast<T>(inverse * inverse * inverse / static_cast<double>(options.width) *
                                  static_cast<double>(dot_T[t]));
    for_lanes(columns, [&](Index begin, auto count) {
      const Lanes<T> scaled = load(dy + begin, count) * r;
      const Lanes<T> value = load(x + begin, count);
      T* dw = dw_D.data + begin;
      store(load(dw, count) + scaled * value, dw, count);
      store(scaled * load(w_D.data + begin, count) - value * pull, dx + begin, count);
    });
  }
}

Cost sum_squares_rows_cost(const Shape& x, Index element_size) { return row_cost(x, 2, 1, 0, 1, element_size); }
Cost normalize_cost(const Shape& x, Index element_size) { return row_cost(x, 2, 2, 1, 1, element_size); }
Cost norm_dot_cost(const Shape& x, Index element_size) { return row_cost(x, 3, 2, 1, 1, element_size); }
Cost norm_grad_cost(const Shape& x, Index element_size) { return row_cost(x, 6, 3, 2, 2, element_size); }

#define SHARDLINE_INSTANTIATE(S)                                                                                   \
  template void sum_squares_rows(View<const S>, View<SumOf<S>>);                                                   \
  template void normalize(View<const S>, View<const SumOf<S>>, View<const SumOf<S>>, const NormOptions&, View<S>); \
  template void norm_dot(View<const S>, View<const SumOf<S>>, View<const S>, View<SumOf<S>>);                      \
  template void norm_grad(View<const S>, View<const S>, View<const SumOf<S>>, View<const SumOf<S>>,                \
                          View<const SumOf<S>>, const NormOptions&, View<S>, View<SumOf<S>>);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
