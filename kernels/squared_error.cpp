#include "kernels/squared_error.h"

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"

namespace shardline::kernels {

template <class S>
void squared_error(View<const S> out, View<const S> target, double scale, View<SumOf<S>> loss) {
  check_elements("squared_error", "target", target.shape, out.size());
  check_elements("squared_error", "the result", loss.shape, 1);
  const double sum = sum_lanes<double>(out.size(), [&](Index begin, auto count) -> Lanes<double> {
    const Lanes<SumOf<S>> difference = load(out.data + begin, count) - load(target.data + begin, count);
    return difference.template cast<double>().square();
  });
  loss[0] = static_cast<SumOf<S>>(scale * sum);
}

template <class S>
void squared_error_grad(View<const S> out, View<const S> target, double d_loss, double scale, View<S> d_out) {
  check_elements("squared_error_grad", "target", target.shape, out.size());
  check_elements("squared_error_grad", "d_out", d_out.shape, out.size());
  const auto factor = static_cast<SumOf<S>>(2 * scale * d_loss);
  for_lanes(out.size(), [&](Index begin, auto count) {
    const Lanes<SumOf<S>> difference = load(out.data + begin, count) - load(target.data + begin, count);
    store(factor * difference, d_out.data + begin, count);
  });
}

Cost squared_error_cost(Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(3 * elements), Bytes(2 * elements * static_cast<double>(element_size))};
}

Cost squared_error_grad_cost(Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(2 * elements), Bytes(3 * elements * static_cast<double>(element_size))};
}

#define SHARDLINE_INSTANTIATE(S)                                                     \
  template void squared_error(View<const S>, View<const S>, double, View<SumOf<S>>); \
  template void squared_error_grad(View<const S>, View<const S>, double, double, View<S>);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
