#include "kernels/elementwise.h"

#include <algorithm>

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

template <class T>
[[gnu::always_inline]] inline Lanes<T> sigmoid(const Lanes<T>& x) {
  return (T(1) + exp_lanes<T>(-x)).inverse();
}

/// 2 sqrt(2/pi) and the weight of the cube. As (1 + tanh(z)) / 2 = sigmoid(2 z), GELU is x sigmoid(2 z).
template <class T>
constexpr T kGeluScale = T(1.5957691216057307117597842397375);
template <class T>
constexpr T kGeluCube = T(0.044715);

template <class T>
Lanes<T> gelu_sigmoid(const Lanes<T>& x) {
  return sigmoid<T>(kGeluScale<T> * x * (T(1) + kGeluCube<T> * x.square()));
}

Cost elementwise_cost(Index operations, Index arrays, Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(static_cast<double>(operations) * elements),
          Bytes(static_cast<double>(arrays * element_size) * elements)};
}

}  // namespace

template <class T>
void add(std::span<const View<const T>> terms, View<T> out) {
  SHARDLINE_CHECK(!terms.empty(), "add: no terms");
  const Index size = out.size();
  for (const View<const T>& term : terms) check_elements("add", "a term", term.shape, size);
  for_lanes(size, [&](Index begin, auto count) {
    Lanes<T> sum = load(terms[0].data + begin, count);
    for (std::size_t i = 1; i < terms.size(); ++i) sum += load(terms[i].data + begin, count);
    store(sum, out.data + begin, count);
  });
}

template <class T>
void silu_mul(View<const T> g, View<const T> u, View<T> y) {
  const Index size = y.size();
  check_elements("silu_mul", "g", g.shape, size);
  check_elements("silu_mul", "u", u.shape, size);
  for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> gate = load(g.data + begin, count);
    const Lanes<T> value = gate * sigmoid<T>(gate) * load(u.data + begin, count);
    store(value, y.data + begin, count);
  });
}

template <class T>
void silu_mul_grad(View<const T> dy, View<const T> g, View<const T> u, View<T> dg, View<T> du) {
  const Index size = dy.size();
  check_elements("silu_mul_grad", "g", g.shape, size);
  check_elements("silu_mul_grad", "u", u.shape, size);
  check_elements("silu_mul_grad", "dg", dg.shape, size);
  check_elements("silu_mul_grad", "du", du.shape, size);
  for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> gate = load(g.data + begin, count);
    const Lanes<T> s = sigmoid<T>(gate);
    const Lanes<T> incoming = load(dy.data + begin, count) * s;
    const Lanes<T> d_gate = incoming * load(u.data + begin, count) * (T(1) + gate * (T(1) - s));
    const Lanes<T> d_up = incoming * gate;
    store(d_gate, dg.data + begin, count);
    store(d_up, du.data + begin, count);
  });
}

template <class T>
void gelu(View<const T> x, View<T> y) {
  const Index size = y.size();
  check_elements("gelu", "x", x.shape, size);
  for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> value = load(x.data + begin, count);
    store<T>(value * gelu_sigmoid<T>(value), y.data + begin, count);
  });
}

template <class T>
void gelu_grad(View<const T> dy, View<const T> x, View<T> dx) {
  const Index size = dx.size();
  check_elements("gelu_grad", "dy", dy.shape, size);
  check_elements("gelu_grad", "x", x.shape, size);
  for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> value = load(x.data + begin, count);
    const Lanes<T> s = gelu_sigmoid<T>(value);
    const Lanes<T> slope = kGeluScale<T> * (T(1) + T(3) * kGeluCube<T> * value.square());
    const Lanes<T> derivative = s + value * slope * s * (T(1) - s);
    store<T>(load(dy.data + begin, count) * derivative, dx.data + begin, count);
  });
}

template <class T>
void fill(View<T> out, T value) {
  std::fill_n(out.data, out.size(), value);
}

Cost add_cost(Index terms, Index count, Index element_size) {
  return elementwise_cost(terms - 1, terms + 1, count, element_size);
}
Cost silu_mul_cost(Index count, Index element_size) { return elementwise_cost(6, 3, count, element_size); }
Cost silu_mul_grad_cost(Index count, Index element_size) { return elementwise_cost(11, 5, count, element_size); }
Cost gelu_cost(Index count, Index element_size) { return elementwise_cost(10, 2, count, element_size); }
Cost gelu_grad_cost(Index count, Index element_size) { return elementwise_cost(18, 3, count, element_size); }
Cost fill_cost(Index count, Index element_size) { return elementwise_cost(0, 1, count, element_size); }

#define SHARDLINE_INSTANTIATE(T)                                                              \
  template void add(std::span<const View<const T>>, View<T>);                                 \
  template void silu_mul(View<const T>, View<const T>, View<T>);                              \
  template void silu_mul_grad(View<const T>, View<const T>, View<const T>, View<T>, View<T>); \
  template void gelu(View<const T>, View<T>);                                                 \
  template void gelu_grad(View<const T>, View<const T>, View<T>);                             \
  template void fill(View<T>, T);
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
