#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <type_traits>

#include "kernels/support/exp.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

/// How elementwise kernels vectorise. Eigen handles the elements before the first aligned address
/// and after the last full vector with scalar code. That code may differ in the last bit, so
/// Eigen's result depends on the address of an array. Here an array is cut into pieces of kLanes
/// elements. Every element, also in the last piece, goes through the same vector code: equal inputs
/// give equal bits on every rank and in every run. Only kernel sources include this header.
namespace shardline::kernels {

inline constexpr Index kLanes = 32;

/// kLanes elements in registers.
template <class T>
using Lanes = Eigen::Array<T, kLanes, 1>;

using FullCount = std::integral_constant<Index, kLanes>;

/// The first `count` lanes from memory, zero in the rest. Elements stored in bf16 become f32.
template <class S, class Count>
[[gnu::always_inline]] inline Lanes<SumOf<S>> load(const S* from, Count count) {
  if constexpr (!std::is_same_v<Count, FullCount>) {
    Lanes<SumOf<S>> lanes = Lanes<SumOf<S>>::Zero();
    for (Index i = 0; i < count; ++i) lanes[i] = static_cast<SumOf<S>>(from[i]);
    return lanes;
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    Lanes<float> lanes;
    for (Index i = 0; i < kLanes; ++i) lanes[i] = static_cast<float>(from[i]);
    return lanes;
  } else {
    return Eigen::Map<const Lanes<S>>(from);
  }
}

/// The first `count` lanes to memory. To bf16 each is rounded as by BFloat16(float).
template <class S, class Count>
[[gnu::always_inline]] inline void store(const Lanes<SumOf<S>>& lanes, S* to, Count count) {
  if constexpr (!std::is_same_v<Count, FullCount>) {
    for (Index i = 0; i < count; ++i) to[i] = static_cast<S>(lanes[i]);
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    for (Index i = 0; i < kLanes; ++i) to[i] = static_cast<S>(lanes[i]);
  } else {
    Eigen::Map<Lanes<S>>{to} = lanes;
  }
}

/// Adds the first `count` lanes of `term` to those of `sum`.
template <class T, class Count>
void add_lanes(Lanes<T>& sum, const Lanes<T>& term, Count count) {
  if constexpr (std::is_same_v<Count, FullCount>) {
    sum += term;
  } else {
    for (Index i = 0; i < count; ++i) sum[i] += term[i];
  }
}

/// Calls body(begin, count) for consecutive pieces of `size` elements. `count` is a FullCount,
/// except for a partial last piece.
template <class Body>
[[gnu::always_inline]] inline void for_lanes(Index size, Body&& body) {
  Index begin = 0;
  for (; begin + kLanes <= size; begin += kLanes) body(begin, FullCount());
  if (begin < size) body(begin, size - begin);
}

/// The sum over i < size of the terms that piece(begin, count) gives as Lanes<T>. The order of the
/// sum depends on `size` only.
template <class T, class Piece>
[[gnu::always_inline]] inline T sum_lanes(Index size, Piece&& piece) {
  Lanes<T> sum = Lanes<T>::Zero();
  for_lanes(size, [&](Index begin, auto count) { add_lanes<T>(sum, piece(begin, count), count); });
  return sum.sum();
}

/// The exponential of every lane.
template <class T>
[[gnu::always_inline]] inline Lanes<T> exp_lanes(const Lanes<T>& x) {
  Lanes<T> y;
  for (Index i = 0; i < kLanes; ++i) y[i] = vector_exp(x[i]);
  return y;
}

/// The larger of two; NaN if one of them is NaN. If b is NaN, `a > b` fails.
template <class T>
T larger(T a, T b) {
  return a > b || std::isnan(a) ? a : b;
}

/// The largest of `start` and the elements; NaN if one element is NaN.
template <class S>
SumOf<S> max_lanes(const S* from, Index size, SumOf<S> start) {
  using T = SumOf<S>;
  std::array<T, kLanes> largest;
  largest.fill(start);
  for_lanes(size, [&](Index begin, auto count) {
    for (Index i = 0; i < count; ++i) {
      T& lane = largest[static_cast<std::size_t>(i)];
      lane = larger(static_cast<T>(from[begin + i]), lane);
    }
  });
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) largest[i] = larger(largest[i], largest[i + half]);
  }
  return largest[0];
}

}  // namespace shardline::kernels
