#include "kernels/experts/routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/support/exp.h"
#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

constexpr auto kIdSize = static_cast<double>(sizeof(std::int32_t));

Index last_of(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

/// The rows of an array along its last dim.
Index rows_of(const Shape& shape) {
  Index rows = 1;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
  return rows;
}

template <class T>
T sum_of_chosen(const T* probs, const std::int32_t* choice, Index chosen) {
  T sum = 0;
  for (Index j = 0; j < chosen; ++j) sum += probs[choice[j]];
  return sum;
}

/// Where the largest of `probs` stands that is not yet among the first `before` of `choice`.
template <class T>
std::int32_t next_largest(const T* probs, Index experts, const std::int32_t* choice, Index before) {
  std::int32_t best = -1;
  for (std::int32_t r = 0; r < experts; ++r) {
    if (std::find(choice, choice + before, r) != choice + before) continue;
    if (best < 0 || probs[r] > probs[best]) best = r;
  }
  return best;
}

}  // namespace

template <class T>
void softmax(View<const T> x, View<T> p) {
  check_elements("softmax", "x", x.shape, p.size());
  const Index width = last_of(p.shape);
  for (Index row = 0; row < rows_of(p.shape); ++row) {
    const T* from = x.data + row * width;
    T* to = p.data + row * width;
    const T largest = width > 0 ? *std::max_element(from, from + width) : T(0);
    T sum = 0;
    for (Index r = 0; r < width; ++r) sum += to[r] = std::exp(from[r] - largest);
    for (Index r = 0; r < width; ++r) to[r] /= sum;
  }
}

template <class T>
void softmax_grad(View<const T> dp, View<const T> p, View<T> dx) {
  check_elements("softmax_grad", "dp", dp.shape, dx.size());
  check_elements("softmax_grad", "p", p.shape, dx.size());
  const Index width = last_of(dx.shape);
  for (Index row = 0; row < rows_of(dx.shape); ++row) {
    const Index at = row * width;
    const T dot = std::inner_product(dp.data + at, dp.data + at + width, p.data + at, T(0));
    for (Index r = at; r < at + width; ++r) dx[r] = p[r] * (dp[r] - dot);
  }
}

template <class T>
void top_k(View<const T> probs, View<T> gate, View<std::int32_t> choice) {
  const Index experts = last_of(probs.shape);
  const Index chosen = last_of(gate.shape);
  SHARDLINE_CHECK(chosen <= experts, "top_k: {} of {} experts are to be chosen", chosen, experts);
  check_elements("top_k", "choice", choice.shape, gate.size());
  check_elements("top_k", "probs", probs.shape, rows_of(gate.shape) * experts);
  for (Index row = 0; row < rows_of(gate.shape); ++row) {
    const T* from = probs.data + row * experts;
    std::int32_t* which = choice.data + row * chosen;
    for (Index j = 0; j < chosen; ++j) which[j] = next_largest(from, experts, which, j);
    const T sum = sum_of_chosen(from, which, chosen);
    for (Index j = 0; j < chosen; ++j) gate[row * chosen + j] = from[which[j]] / sum;
  }
}

template <class T>
void top_k_grad(View<const T> dgate, View<const T> probs, View<const T> gate, View<const std::int32_t> choice,
                View<T> dprobs) {
  const Index experts = last_of(dprobs.shape);
  const Index chosen = last_of(gate.shape);
  check_elements("top_k_grad", "probs", probs.shape, dprobs.size());
  check_elements("top_k_grad", "dgate", dgate.shape, gate.size());
  check_elements("top_k_grad", "choice", choice.shape, gate.size());
  std::fill_n(dprobs.data, dprobs.size(), T(0));
  for (Index row = 0; row < rows_of(gate.shape); ++row) {
    const Index at = row * chosen;
    const T sum = sum_of_chosen(probs.data + row * experts, choice.data + at, chosen);
    const T dot = std::inner_product(dgate.data + at, dgate.data + at + chosen, gate.data + at, T(0));
    for (Index j = at; j < at + chosen; ++j) dprobs[row * experts + choice[j]] = (dgate[j] - dot) / sum;
  }
}

void assign_places(View<const std::int32_t> choice_BTJ, View<const std::int32_t> positions_T, Index places,
                   View<std::int32_t> slot_BTJ, View<std::int32_t> taken_EB, View<std::int32_t> load_BR) {
  const Index sequences = choice_BTJ.shape.at(0);
  const Index tokens = choice_BTJ.shape.at(1);
  const Index chosen = choice_BTJ.shape.at(2);
  const Index experts = taken_EB.shape.at(0);
  check_elements("slots", "slot", slot_BTJ.shape, choice_BTJ.size());
  check_elements("slots", "positions", positions_T.shape, tokens);
  check_elements("slots", "taken", taken_EB.shape, experts * sequences);
  check_elements("slots", "load", load_BR.shape, experts * sequences);
  std::vector<Index> order(static_cast<std::size_t>(tokens));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return positions_T[a] < positions_T[b]; });
  for (Index b = 0; b < sequences; ++b) {
    std::int32_t* load = load_BR.data + b * experts;
    std::fill_n(load, experts, 0);
    for (const Index t : order) {
      const Index at = (b * tokens + t) * chosen;
      for (Index j = at; j < at + chosen; ++j) {
        const std::int32_t e = choice_BTJ[j];
        SHARDLINE_CHECK(e >= 0 && e < experts, "slots: expert {} of {}", e, experts);
        slot_BTJ[j] = load[e] < places ? load[e] : -1;
        ++load[e];
      }
    }
    for (Index e = 0; e < experts; ++e) {
      taken_EB[e * sequences + b] = static_cast<std::int32_t>(std::min<Index>(load[e], places));
    }
  }
}

template <class T>
void count_routed(View<const std::int32_t> load_BR, Index places, View<T> routed_R, View<T> dropped_R) {
  const Index experts = routed_R.size();
  check_elements("expert_load", "dropped", dropped_R.shape, experts);
  std::fill_n(routed_R.data, experts, T(0));
  std::fill_n(dropped_R.data, experts, T(0));
  for (Index i = 0; i < load_BR.size(); ++i) {
    routed_R[i % experts] += static_cast<T>(load_BR[i]);
    dropped_R[i % experts] += static_cast<T>(std::max<Index>(0, load_BR[i] - places));
  }
}

template <class T>
void closest_choice(View<const T> probs, View<const std::int32_t> choice, View<T> closest) {
  const Index experts = last_of(probs.shape);
  const Index chosen = last_of(choice.shape);
  T least = 1;
  for (Index row = 0; row < rows_of(probs.shape); ++row) {
    const T* from = probs.data + row * experts;
    const std::int32_t* which = choice.data + row * chosen;
    if (chosen == 0 || chosen == experts) break;
    const T smallest = from[which[chosen - 1]];
    const std::int32_t next = next_largest(from, experts, which, chosen);
    least = std::min(least, smallest - from[next]);
  }
  closest[0] = -least;
}

template <class T>
void balance_loss(View<const T> probs_BTR, View<const std::int32_t> load_BR, double scale, View<T> loss) {
  const Index sequences = probs_BTR.shape.at(0);
  const Index tokens = probs_BTR.shape.at(1);
  const Index experts = probs_BTR.shape.at(2);
  check_elements("balance_loss", "load", load_BR.shape, sequences * experts);
  double sum = 0;
  for (Index b = 0; b < sequences; ++b) {
    for (Index t = 0; t < tokens; ++t) {
      const T* probs = probs_BTR.data + (b * tokens + t) * experts;
      for (Index r = 0; r < experts; ++r) {
        sum += static_cast<double>(probs[r]) * static_cast<double>(load_BR[b * experts + r]);
      }
    }
  }
  loss[0] = static_cast<T>(scale * sum);
}

template <class T>
void balance_loss_grad(View<const std::int32_t> load_BR, View<const T> dloss, double scale, View<T> dprobs_BTR) {
  const Index tokens = dprobs_BTR.shape.at(1);
  const Index experts = dprobs_BTR.shape.at(2);
  check_elements("balance_loss_grad", "load", load_BR.shape, dprobs_BTR.shape.at(0) * experts);
  const double factor = scale * static_cast<double>(dloss[0]);
  for (Index i = 0; i < dprobs_BTR.size(); ++i) {
    const Index sequence = i / (tokens * experts);
    dprobs_BTR[i] = static_cast<T>(factor * static_cast<double>(load_BR[sequence * experts + i % experts]));
  }
}

Cost softmax_cost(Index elements, Index element_size) {
  return {Flops(4.0 * static_cast<double>(elements)), Bytes(2.0 * static_cast<double>(elements * element_size))};
}

Cost softmax_grad_cost(Index elements, Index element_size) {
  return {Flops(4.0 * static_cast<double>(elements)), Bytes(3.0 * static_cast<double>(elements * element_size))};
}

Cost top_k_cost(Index elements, Index choices, Index chosen, Index element_size) {
  return {Flops(static_cast<double>(elements * chosen)),
          Bytes(static_cast<double>((elements + choices) * element_size) + kIdSize * static_cast<double>(choices))};
}

Cost top_k_grad_cost(Index elements, Index chosen, Index element_size) {
  return {
      Flops(4.0 * static_cast<double>(chosen)),
      Bytes(static_cast<double>((2 * elements + 2 * chosen) * element_size) + kIdSize * static_cast<double>(chosen))};
}

Cost assign_places_cost(Index choices, Index experts, Index sequences) {
  return {Flops(static_cast<double>(choices)),
          Bytes(kIdSize * static_cast<double>(2 * choices + 2 * experts * sequences))};
}

Cost count_routed_cost(Index loads) {
  return {Flops(2.0 * static_cast<double>(loads)), Bytes(kIdSize * static_cast<double>(loads))};
}

Cost closest_choice_cost(Index elements, Index choices, Index element_size) {
  return {Flops(static_cast<double>(elements)),
          Bytes(static_cast<double>(elements * element_size) + kIdSize * static_cast<double>(choices))};
}

Cost balance_loss_cost(Index elements, Index loads, Index element_size) {
  return {Flops(2.0 * static_cast<double>(elements)),
          Bytes(static_cast<double>(elements * element_size) + kIdSize * static_cast<double>(loads))};
}

#define SHARDLINE_INSTANTIATE(T)                                                                            \
  template void softmax(View<const T>, View<T>);                                                            \
  template void softmax_grad(View<const T>, View<const T>, View<T>);                                        \
  template void top_k(View<const T>, View<T>, View<std::int32_t>);                                          \
  template void top_k_grad(View<const T>, View<const T>, View<const T>, View<const std::int32_t>, View<T>); \
  template void count_routed(View<const std::int32_t>, Index, View<T>, View<T>);                            \
  template void closest_choice(View<const T>, View<const std::int32_t>, View<T>);                           \
  template void balance_loss(View<const T>, View<const std::int32_t>, double, View<T>);                     \
  template void balance_loss_grad(View<const std::int32_t>, View<const T>, double, View<T>);
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
