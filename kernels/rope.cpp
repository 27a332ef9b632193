#include "kernels/rope.h"

#include <cmath>
#include <numbers>

#include "kernels/support/rows.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

void check_rope(const Shape& x, const RopeOptions& options) {
  const auto dims = static_cast<Index>(x.size());
  SHARDLINE_CHECK(options.time_dim >= 0 && options.time_dim + 1 < dims,
                  "rope: time_dim is {}, which is not before the last dim of {}", options.time_dim, to_string(x));
  SHARDLINE_CHECK(x.back() % 2 == 0, "rope: the last dim of {} is odd", to_string(x));
  SHARDLINE_CHECK(x[static_cast<std::size_t>(options.time_dim)] == options.positions.size(),
                  "rope: dim {} of {} does not match the {} positions", options.time_dim, to_string(x),
                  options.positions.size());
  SHARDLINE_CHECK(options.sign == 1 || options.sign == -1, "rope: sign is {}; 1 and -1 are legal", options.sign);
}

/// Every kStride-th position gets its rotation directly from the angle.
constexpr Index kStride = 16;

/// Cosines and sines for every position of a range and every pair, [positions, H/2] each.
template <class T>
struct Rotations {
  std::vector<T> cosine;
  std::vector<T> sine;

  Rotations(Index positions, Index half)
      : cosine(static_cast<std::size_t>(positions * half)), sine(static_cast<std::size_t>(positions * half)) {}
};

/// Rotations by the positions first, first + step, first + 2 step, ...
Rotations<double> rotations_by_angle(const std::vector<double>& frequencies, Index first, Index step, Index count) {
  Rotations<double> rotations(count, static_cast<Index>(frequencies.size()));
  std::size_t at = 0;
  for (Index i = 0; i < count; ++i) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(first + i * step) * frequency;
      rotations.cosine[at] = std::cos(angle);
      rotations.sine[at++] = std::sin(angle);
    }
  }
  return rotations;
}

/// Cosines and sines are expensive, so few positions compute them. The rotation by position p is
/// the rotation by the last multiple of kStride, then by the rest. It depends on p only, not on the
/// begin of the range.
template <class T>
Rotations<T> make_rotations(const RopeOptions& options, Index half) {
  const std::vector<double> frequencies = rope_frequencies(half, options.theta, options.scaling);
  const Index first = options.positions.begin / kStride;
  const Index strides = (options.positions.end + kStride - 1) / kStride - first;
  const Rotations<double> whole = rotations_by_angle(frequencies, first * kStride, kStride, strides);
  const Rotations<double> rest = rotations_by_angle(frequencies, 0, 1, kStride);
  Rotations<T> rotations(options.positions.size(), half);
  for (Index t = 0; t < options.positions.size(); ++t) {
    const Index position = options.positions.begin + t;
    const Index major = (position / kStride - first) * half, minor = position % kStride * half;
    const double *c1 = whole.cosine.data() + major, *s1 = whole.sine.data() + major;
    const double *c2 = rest.cosine.data() + minor, *s2 = rest.sine.data() + minor;
    T *cosine = rotations.cosine.data() + t * half, *sine = rotations.sine.data() + t * half;
    for (Index i = 0; i < half; ++i) {
      cosine[i] = static_cast<T>(c1[i] * c2[i] - s1[i] * s2[i]);
      sine[i] = static_cast<T>(options.sign * (s1[i] * c2[i] + c1[i] * s2[i]));
    }
  }
  return rotations;
}

/// `y` may be `x`. Vectors start at the first element of a head, so the result of a pair does not
/// depend on its address.
template <class S, class T>
void rotate(const S* x, const T* cosine, const T* sine, Index half, S* y) {
#pragma GCC ivdep
  for (Index i = 0; i < half; ++i) {
    const T low = static_cast<T>(x[i]), high = static_cast<T>(x[half + i]);
    y[i] = static_cast<S>(low * cosine[i] - high * sine[i]);
    y[half + i] = static_cast<S>(high * cosine[i] + low * sine[i]);
  }
}

void check_scaling(const RopeScaling& scaling) {
  SHARDLINE_CHECK(scaling.factor >= 1, "rope: factor is {}; at least 1 is legal", scaling.factor);
  SHARDLINE_CHECK(scaling.low_freq_factor > 0 && scaling.high_freq_factor > scaling.low_freq_factor,
                  "rope: low_freq_factor is {} and high_freq_factor is {}; positive and larger than that are legal",
                  scaling.low_freq_factor, scaling.high_freq_factor);
  SHARDLINE_CHECK(scaling.original_positions > 0, "rope: original_positions is {}; it must be positive",
                  scaling.original_positions);
}

/// The part of its frequency that a pair keeps.
double kept_part(double frequency, const RopeScaling& scaling) {
  const double turns = scaling.original_positions * frequency / (2 * std::numbers::pi);
  if (turns >= scaling.high_freq_factor) return 1;
  if (turns <= scaling.low_freq_factor) return 1 / scaling.factor;
  const double share = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - share) / scaling.factor + share;
}

}  // namespace

std::vector<double> rope_frequencies(Index half, double theta, const std::optional<RopeScaling>& scaling) {
  if (scaling) check_scaling(*scaling);
  std::vector<double> frequencies;
  for (Index i = 0; i < half; ++i) {
    const double frequency = std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
    frequencies.push_back(scaling ? frequency * kept_part(frequency, *scaling) : frequency);
  }
  return frequencies;
}

template <class S>
void rope(View<const S> x, const RopeOptions& options, View<S> y) {
  using T = SumOf<S>;
  check_rope(x.shape, options);
  check_elements("rope", "y", y.shape, x.size());
  if (x.size() == 0) return;
  const auto time_dim = x.shape.begin() + options.time_dim;
  const Index outer = element_count(Shape(x.shape.begin(), time_dim));
  const Index middle = element_count(Shape(time_dim + 1, x.shape.end() - 1));
  const Index head = x.shape.back();
  const Index half = head / 2;
  const Rotations<T> rotations = make_rotations<T>(options, half);
  Index row = 0;
  for (Index o = 0; o < outer; ++o) {
    for (Index t = 0; t < *time_dim; ++t) {
      const T* cosine = rotations.cosine.data() + t * half;
      const T* sine = rotations.sine.data() + t * half;
      for (Index m = 0; m < middle; ++m, ++row) {
        rotate(x.data + row * head, cosine, sine, half, y.data + row * head);
      }
    }
  }
}

Cost rope_cost(Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(3 * elements), Bytes(2 * elements * static_cast<double>(element_size))};
}

template void rope(View<const BFloat16>, const RopeOptions&, View<BFloat16>);
template void rope(View<const float>, const RopeOptions&, View<float>);
template void rope(View<const double>, const RopeOptions&, View<double>);

}  // namespace shardline::kernels
