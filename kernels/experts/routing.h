#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

// Which experts a token goes to (book section 4.4.1). R counts experts, J the choices of a token, C the places that an
// expert has for each sequence. T is float or double.
namespace shardline::kernels {

/// p[..., R] = exp(x - max) / sum along the last dim.
template <class T>
void softmax(View<const T> x, View<T> p);

/// dx = p (dp - sum over R of dp p).
template <class T>
void softmax_grad(View<const T> dp, View<const T> p, View<T> dx);

/// The J largest of probs[..., R], largest first, of equals the first: choice[..., J] is where they stand, gate[..., J]
/// their values divided by their sum. Throws Error if J is larger than R.
template <class T>
void top_k(View<const T> probs, View<T> gate, View<std::int32_t> choice);

/// dprobs[..., R]: (dgate - sum over J of dgate gate) / sum of the chosen probs, where an expert was chosen, else zero.
template <class T>
void top_k_grad(View<const T> dgate, View<const T> probs, View<const T> gate, View<const std::int32_t> choice,
                View<T> dprobs);

/// Places for the choices of each sequence, in the order of `positions` [T], the choices of a token in their order.
/// slot[B, T, J] is the place with the chosen expert, or -1 if all `places` are taken. taken[E, B] counts the places
/// that are, load[B, R] all choices of an expert. Throws Error if a choice is not in 0 to E - 1.
void assign_places(View<const std::int32_t> choice_BTJ, View<const std::int32_t> positions_T, Index places,
                   View<std::int32_t> slot_BTJ, View<std::int32_t> taken_EB, View<std::int32_t> load_BR);

/// routed[R] sums load[B, R] over the sequences, dropped[R] what of it is beyond `places` in a sequence.
template <class T>
void count_routed(View<const std::int32_t> load_BR, Index places, View<T> routed_R, View<T> dropped_R);

/// closest: minus the least distance, over the tokens, of the smallest chosen one of probs[..., R] from the largest
/// that is not chosen; -1 without tokens, or if all are chosen.
template <class T>
void closest_choice(View<const T> probs, View<const std::int32_t> choice, View<T> closest);

/// loss = scale * sum over B, T and R of load[B, R] probs[B, T, R].
template <class T>
void balance_loss(View<const T> probs_BTR, View<const std::int32_t> load_BR, double scale, View<T> loss);

/// dprobs[B, T, R] = scale * dloss * load[B, R].
template <class T>
void balance_loss_grad(View<const std::int32_t> load_BR, View<const T> dloss, double scale, View<T> dprobs_BTR);

/// Costs count each array once. `elements` are those of the array with R.
Cost softmax_cost(Index elements, Index element_size);
Cost softmax_grad_cost(Index elements, Index element_size);
/// A comparison per element and choice.
Cost top_k_cost(Index elements, Index choices, Index chosen, Index element_size);
Cost top_k_grad_cost(Index elements, Index chosen, Index element_size);
Cost assign_places_cost(Index choices, Index experts, Index sequences);
Cost count_routed_cost(Index loads);
Cost closest_choice_cost(Index elements, Index choices, Index element_size);
Cost balance_loss_cost(Index elements, Index loads, Index element_size);

}  // namespace shardline::kernels
