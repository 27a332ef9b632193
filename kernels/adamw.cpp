#include "kernels/adamw.h"

#include <algorithm>
#include <cmath>

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

double clip_factor(double clip_norm, double norm_squared) {
  return clip_norm > 0 ? std::min(1.0, clip_norm / std::sqrt(norm_squared)) : 1.0;
}

}  // namespace

template <class S>
void sum_squares(View<const S> g, View<SumOf<S>> out) {
  check_elements("sum_squares", "the result", out.shape, 1);
  const double sum = sum_lanes<double>(g.size(), [&](Index begin, auto count) -> Lanes<double> {
    return load(g.data + begin, count).template cast<double>().square();
  });
  out[0] = static_cast<SumOf<S>>(sum);
}

template <class T>
void adamw(const AdamWOptions& options, View<const T> p, View<const T> g, View<const T> m, View<const T> v,
           double norm_squared, double learning_rate, double step, View<T> p_out, View<T> m_out, View<T> v_out) {
  const Index size = p.size();
  check_elements("adamw", "g", g.shape, size);
  check_elements("adamw", "m", m.shape, size);
  check_elements("adamw", "v", v.shape, size);
  check_elements("adamw", "p_out", p_out.shape, size);
  check_elements("adamw", "m_out", m_out.shape, size);
  check_elements("adamw", "v_out", v_out.shape, size);
  SHARDLINE_CHECK(step >= 1, "adamw: step is {}; steps count from 1", step);
  const T clip = static_cast<T>(clip_factor(options.clip_norm, norm_squared));
  const T keep_m = static_cast<T>(options.beta1);
  const T take_m = static_cast<T>(1 - options.beta1);
  const T keep_v = static_cast<T>(options.beta2);
  const T take_v = static_cast<T>(1 - options.beta2);
  const T rate = static_cast<T>(learning_rate / (1 - std::pow(options.beta1, step)));
  const T correct_v = static_cast<T>(1 / (1 - std::pow(options.beta2, step)));
  const T eps = static_cast<T>(options.eps);
  const T decay = static_cast<T>(learning_rate * options.weight_decay);
  for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> gradient = load(g.data + begin, count) * clip;
    const Lanes<T> first = keep_m * load(m.data + begin, count) + take_m * gradient;
    const Lanes<T> second = keep_v * load(v.data + begin, count) + take_v * gradient.square();
    const Lanes<T> parameter = load(p.data + begin, count);
    const Lanes<T> change = rate * first / ((second * correct_v).sqrt() + eps) + decay * parameter;
    store<T>(parameter - change, p_out.data + begin, count);
    store(first, m_out.data + begin, count);
    store(second, v_out.data + begin, count);
  });
}

Cost sum_squares_cost(Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(2 * elements), Bytes(elements * static_cast<double>(element_size))};
}

Cost adamw_cost(Index count, const AdamWSizes& sizes) {
  const auto elements = static_cast<double>(count);
  return {Flops(16 * elements),
          Bytes(elements * static_cast<double>(2 * sizes.parameter + sizes.gradient + 4 * sizes.moment))};
}

#define SHARDLINE_INSTANTIATE(T)                                                                                       \
  template void adamw(const AdamWOptions&, View<const T>, View<const T>, View<const T>, View<const T>, double, double, \
                      double, View<T>, View<T>, View<T>);
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)
template void sum_squares(View<const BFloat16>, View<float>);
template void sum_squares(View<const float>, View<float>);
template void sum_squares(View<const double>, View<double>);

}  // namespace shardline::kernels
