#include "kernels/pick_rows.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::kernels {

template <class T>
void pick_rows(View<const T> x, View<const std::int32_t> wanted, View<T> out) {
  const Shape tokens(x.shape.begin(), x.shape.end() - 1), picked{x.shape.front(), x.shape.back()};
  SHARDLINE_CHECK(x.shape.size() == 3 && wanted.shape == tokens && out.shape == picked,
                  "pick_rows: x {}, wanted {}, out {}", to_string(x.shape), to_string(wanted.shape),
                  to_string(out.shape));
  const Index rows = x.shape[1], row = x.shape[2];
  std::fill(out.begin(), out.end(), T());
  for (Index i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0) continue;
    const T* from = x.data + i * row;
    T* to = out.data + i / rows * row;
    for (Index d = 0; d < row; ++d)
      to[d] = static_cast<T>(static_cast<SumOf<T>>(to[d]) + static_cast<SumOf<T>>(from[d]));
  }
}

Cost pick_rows_cost(Index count, Index element_size) {
  return {Flops(0), Bytes(2 * static_cast<double>(count) * static_cast<double>(element_size))};
}

template void pick_rows(View<const BFloat16>, View<const std::int32_t>, View<BFloat16>);
template void pick_rows(View<const float>, View<const std::int32_t>, View<float>);
template void pick_rows(View<const double>, View<const std::int32_t>, View<double>);

}  // namespace shardline::kernels
