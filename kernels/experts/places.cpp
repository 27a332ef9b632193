#include "kernels/experts/places.h"

#include <algorithm>
#include <vector>

#include "kernels/support/lanes.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// The sizes of a call, checked.
struct Sizes {
  Index sequences, tokens, chosen, width;
};

Sizes sizes_of(const char* kernel, const Places& places, const Shape& xs, const Shape& tokens) {
  SHARDLINE_CHECK(places.choice_BTJ.shape.size() == 3 && xs.size() == 4 && tokens.size() == 3,
                  "{}: choices of shape {}, places of shape {}, tokens of shape {}", kernel,
                  to_string(places.choice_BTJ.shape), to_string(xs), to_string(tokens));
  const Shape& choice = places.choice_BTJ.shape;
  check_elements(kernel, "slot", places.slot_BTJ.shape, element_count(choice));
  const bool fits = xs[0] == places.experts.size() && xs[1] == choice[0] && xs[2] == places.places.size() &&
                    xs[3] == tokens[2] && tokens[0] == choice[0] && tokens[1] == choice[1];
  SHARDLINE_CHECK(fits, "{}: choices of shape {}, places of shape {}, tokens of shape {}", kernel, to_string(choice),
                  to_string(xs), to_string(tokens));
  return {choice[0], choice[1], choice[2], tokens[2]};
}

/// Calls body(token, choice, row) for every choice that has a place here: numbers of the token in [B, T], of the choice
/// in [B, T, J], of the place in [E, B, C]. Token by token, the choices of each in order.
template <class Body>
void for_each_place(const Places& places, const Sizes& sizes, Body body) {
  for (Index token = 0; token < sizes.sequences * sizes.tokens; ++token) {
    for (Index j = token * sizes.chosen; j < (token + 1) * sizes.chosen; ++j) {
      const Index e = places.choice_BTJ[j];
      const Index slot = places.slot_BTJ[j];
      if (e < places.experts.begin || e >= places.experts.end) continue;
      if (slot < places.places.begin || slot >= places.places.end) continue;
      const Index block = (e - places.experts.begin) * sizes.sequences + token / sizes.tokens;
      body(token, j, block * places.places.size() + slot - places.places.begin);
    }
  }
}

/// Sums of rows of `from` into the tokens, each times factor(choice).
template <class T, class Factor>
void sum_places(const Places& places, const Sizes& sizes, View<const T> from, Factor factor, View<T> to) {
  const Index width = sizes.width;
  Index ready = 0;  // tokens before this one are written
  const auto fill_to = [&](Index token) {
    for (; ready < token; ++ready) std::fill_n(to.data + ready * width, width, T{});
  };
  struct Term {
    const T* row;
    SumOf<T> factor;
  };
  std::vector<Term> terms;
  Index current = -1;
  const auto flush = [&] {
    if (terms.empty()) return;
    fill_to(current);
    for_lanes(width, [&](Index begin, auto count) {
      Lanes<SumOf<T>> sum = load(terms[0].row + begin, count) * terms[0].factor;
      for (std::size_t k = 1; k < terms.size(); ++k) sum += load(terms[k].row + begin, count) * terms[k].factor;
      store(sum, to.data + current * width + begin, count);
    });
    ready = current + 1;
    terms.clear();
  };
  for_each_place(places, sizes, [&](Index token, Index choice, Index row) {
    if (token != current) flush();
    current = token;
    terms.push_back({from.data + row * width, factor(choice)});
  });
  flush();
  fill_to(sizes.sequences * sizes.tokens);
}

}  // namespace

template <class T>
void dispatch(View<const T> n_BTD, const Places& places, bool partial, View<T> xs) {
  const Sizes sizes = sizes_of("dispatch", places, xs.shape, n_BTD.shape);
  if (partial) std::fill_n(xs.data, xs.size(), T{});
  for_each_place(places, sizes, [&](Index token, Index, Index row) {
    std::copy_n(n_BTD.data + token * sizes.width, sizes.width, xs.data + row * sizes.width);
  });
}

template <class T>
void dispatch_grad(View<const T> dxs, const Places& places, View<T> dn_BTD) {
  const Sizes sizes = sizes_of("dispatch_grad", places, dxs.shape, dn_BTD.shape);
  sum_places<T>(
      places, sizes, dxs, [](Index) { return SumOf<T>(1); }, dn_BTD);
}

template <class T>
void combine(View<const T> ys, View<const SumOf<T>> gate_BTJ, const Places& places, View<T> y_BTD) {
  const Sizes sizes = sizes_of("combine", places, ys.shape, y_BTD.shape);
  check_elements("combine", "gate", gate_BTJ.shape, places.choice_BTJ.size());
  sum_places<T>(
      places, sizes, ys, [&](Index choice) { return gate_BTJ[choice]; }, y_BTD);
}

template <class T>
void combine_grad(View<const T> dy_BTD, View<const T> ys, View<const SumOf<T>> gate_BTJ, const Places& places,
                  bool partial, View<T> dys, View<SumOf<T>> dgate_BTJ) {
  const Sizes sizes = sizes_of("combine_grad", places, ys.shape, dy_BTD.shape);
  check_elements("combine_grad", "dys", dys.shape, ys.size());
  check_elements("combine_grad", "gate", gate_BTJ.shape, places.choice_BTJ.size());
  check_elements("combine_grad", "dgate", dgate_BTJ.shape, places.choice_BTJ.size());
  if (partial) std::fill_n(dys.data, dys.size(), T{});
  std::fill_n(dgate_BTJ.data, dgate_BTJ.size(), SumOf<T>(0));
  const Index width = sizes.width;
  for_each_place(places, sizes, [&](Index token, Index choice, Index row) {
    const T* dy = dy_BTD.data + token * width;
    const T* y = ys.data + row * width;
    T* dx = dys.data + row * width;
    dgate_BTJ[choice] = sum_lanes<SumOf<T>>(width, [&](Index begin, auto count) -> Lanes<SumOf<T>> {
      const Lanes<SumOf<T>> incoming = load(dy + begin, count);
      store(Lanes<SumOf<T>>(incoming * gate_BTJ[choice]), dx + begin, count);
      return incoming * load(y + begin, count);
    });
  });
}

Cost dispatch_cost(double rows, Index width, Index element_size) {
  return {Flops(0), Bytes(2 * rows * static_cast<double>(width * element_size))};
}

Cost combine_cost(double rows, Index tokens, Index width, Index element_size) {
  const auto row = static_cast<double>(width);
  return {Flops(2 * rows * row), Bytes((rows + static_cast<double>(tokens)) * row * static_cast<double>(element_size))};
}

Cost combine_grad_cost(double rows, Index tokens, Index width, Index element_size) {
  const auto row = static_cast<double>(width);
  return {Flops(3 * rows * row),
          Bytes((2 * rows + static_cast<double>(tokens)) * row * static_cast<double>(element_size))};
}

#define SHARDLINE_INSTANTIATE(T)                                                                               \
  template void dispatch(View<const T>, const Places&, bool, View<T>);                                         \
  template void dispatch_grad(View<const T>, const Places&, View<T>);                                          \
  template void combine(View<const T>, View<const SumOf<T>>, const Places&, View<T>);                          \
  template void combine_grad(View<const T>, View<const T>, View<const SumOf<T>>, const Places&, bool, View<T>, \
                             View<SumOf<T>>);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
