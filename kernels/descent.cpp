#include "kernels/descent.h"

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"

namespace shardline::kernels {

template <class T>
void descent(View<const T> p, View<const T> g, double learning_rate, View<T> p_out) {
  check_elements("descent", "g", g.shape, p.size());
  check_elements("descent", "p_out", p_out.shape, p.size());
  const T rate = static_cast<T>(learning_rate);
  for_lanes(p.size(), [&](Index begin, auto count) {
    store<T>(load(p.data + begin, count) - rate * load(g.data + begin, count), p_out.data + begin, count);
  });
}

Cost descent_cost(Index count, Index parameter_size, Index gradient_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(2 * elements), Bytes(elements * static_cast<double>(2 * parameter_size + gradient_size))};
}

#define SHARDLINE_INSTANTIATE(T) template void descent(View<const T>, View<const T>, double, View<T>);
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
