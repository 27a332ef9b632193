#include "kernels/bias.h"

#include <vector>

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// The number of rows of `columns` elements. An array without elements has none.
Index rows_of(const char* kernel, Index elements, Index columns) {
  if (elements == 0) return 0;
  SHARDLINE_CHECK(columns > 0 && elements % columns == 0, "{}: {} elements are no rows of {}", kernel, elements,
                  columns);
  return elements / columns;
}

Cost bias_cost(Index elements, Index arrays, Index row, Index element_size) {
  return {Flops(static_cast<double>(elements)), Bytes(static_cast<double>((arrays * elements + row) * element_size))};
}

}  // namespace

template <class S>
void add_bias(View<const S> x_TF, View<const S> b_F, View<S> y_TF) {
  const Index columns = b_F.size();
  check_elements("add_bias", "y", y_TF.shape, x_TF.size());
  for (Index t = 0; t < rows_of("add_bias", x_TF.size(), columns); ++t) {
    const S* x = x_TF.data + t * columns;
    S* y = y_TF.data + t * columns;
    for_lanes(columns, [&](Index begin, auto count) {
      const Lanes<SumOf<S>> sum = load(x + begin, count) + load(b_F.data + begin, count);
      store(sum, y + begin, count);
    });
  }
}

template <class S>
void bias_grad(View<const S> dy_TF, View<S> db_F) {
  using T = SumOf<S>;
  const Index columns = db_F.size();
  std::vector<T> sums(static_cast<std::size_t>(columns), T(0));
  for (Index t = 0; t < rows_of("bias_grad", dy_TF.size(), columns); ++t) {
    const S* dy = dy_TF.data + t * columns;
    for_lanes(columns, [&](Index begin, auto count) {
      const Lanes<T> sum = load(sums.data() + begin, count) + load(dy + begin, count);
      store(sum, sums.data() + begin, count);
    });
  }
  for (Index f = 0; f < columns; ++f) db_F[f] = static_cast<S>(sums[static_cast<std::size_t>(f)]);
}

Cost add_bias_cost(Index x, Index b, Index element_size) { return bias_cost(x, 2, b, element_size); }
Cost bias_grad_cost(Index dy, Index db, Index element_size) { return bias_cost(dy, 1, db, element_size); }

#define SHARDLINE_INSTANTIATE(S)                                 \
  template void add_bias(View<const S>, View<const S>, View<S>); \
  template void bias_grad(View<const S>, View<S>);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
