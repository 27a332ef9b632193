#include "kernels/rope.h"

#include <algorithm>
#include <array>
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
  const auto time_dim = x.begin() + options.time_dim;
  const auto of_sequences = [&](const Shape& shape) {
    return shape.back() == *time_dim && element_count(shape) == element_count(Shape(x.begin(), time_dim + 1));
  };
  const Shape& positions = options.positions.shape;
  SHARDLINE_CHECK(positions == Shape{*time_dim} || (positions.size() > 1 && of_sequences(positions)),
                  "rope: dim {} of {} does not match the positions {}", options.time_dim, to_string(x),
                  to_string(positions));
  SHARDLINE_CHECK(options.starts.shape.empty() || (positions.size() == 1 && of_sequences(options.starts.shape)),
                  "rope: starts of shape {} for x of shape {}", to_string(options.starts.shape), to_string(x));
  SHARDLINE_CHECK(options.sign == 1 || options.sign == -1, "rope: sign is {}; 1 and -1 are legal", options.sign);
}

/// True if every sequence has the same positions.
bool alike(const RopeOptions& options) { return options.positions.shape.size() == 1 && options.starts.shape.empty(); }

/// By how much each token turns, one sequence after the other; of all sequences together if they are alike.
std::vector<Index> turns_of(const RopeOptions& options) {
  const Index tokens = options.positions.size();
  const bool started = !options.starts.shape.empty(), own = options.positions.shape.size() > 1;
  std::vector<Index> turns(static_cast<std::size_t>(started ? options.starts.size() : tokens));
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const auto place = static_cast<Index>(i);
    std::int32_t position = options.positions[place % tokens];
    if (own) position = std::max(position, 0);
    const std::int32_t start = started ? options.starts[place] : 0;
    turns[i] = static_cast<Index>(position) - start;
    SHARDLINE_CHECK(turns[i] >= 0, "rope: a token at position {} in a document that begins at {}", position, start);
  }
  return turns;
}

/// Every kStride-th position gets its rotation directly from the angle.
constexpr Index kStride = 16;

/// Cosines and sines for some positions and every pair, [positions, H/2] each.
template <class T>
struct Rotations {
  std::vector<T> cosine;
  std::vector<T> sine;

  Rotations(std::size_t positions, std::size_t half) : cosine(positions * half), sine(positions * half) {}
};

Rotations<double> rotations_by_angle(const std::vector<double>& frequencies, const std::vector<Index>& positions) {
  Rotations<double> rotations(positions.size(), frequencies.size());
  std::size_t at = 0;
  for (const Index position : positions) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      rotations.cosine[at] = std::cos(angle);
      rotations.sine[at++] = std::sin(angle);
    }
  }
  return rotations;
}

/// Makes rotations. Cosines and sines are expensive, so few positions compute them. The rotation by position p is
/// the rotation by the last multiple of kStride, then by the rest. It depends on p only, not on the other positions.
template <class T>
class Turner {
 public:
  /// For the positions `turns`.
  Turner(const RopeOptions& options, std::size_t half, const std::vector<Index>& turns)
      : sign_(options.sign), half_(half), strides_(strides_of(turns)), whole_(0, 0), rest_(0, 0) {
    const std::vector<double> frequencies = rope_frequencies(static_cast<Index>(half), options.theta, options.scaling);
    whole_ = rotations_by_angle(frequencies, strides_);
    rest_ = rotations_by_angle(frequencies, rests_of(turns));
  }

  /// The rotations by `count` of the positions.
  Rotations<T> rotations(const Index* turns, std::size_t count) const {
    Rotations<T> made(count, half_);
    std::size_t found = 0;  // most positions have the stride of the one before
    for (std::size_t t = 0; t < count; ++t) {
      const Index stride = turns[t] / kStride * kStride;
      if (strides_[found] != stride) {
        found = static_cast<std::size_t>(std::lower_bound(strides_.begin(), strides_.end(), stride) - strides_.begin());
      }
      const std::size_t major = found * half_;
      const std::size_t minor = rest_of_[static_cast<std::size_t>(turns[t] - stride)] * half_;
      const double *c1 = whole_.cosine.data() + major, *s1 = whole_.sine.data() + major;
      const double *c2 = rest_.cosine.data() + minor, *s2 = rest_.sine.data() + minor;
      T *cosine = made.cosine.data() + t * half_, *sine = made.sine.data() + t * half_;
      for (std::size_t i = 0; i < half_; ++i) {
        cosine[i] = static_cast<T>(c1[i] * c2[i] - s1[i] * s2[i]);
        sine[i] = static_cast<T>(sign_ * (s1[i] * c2[i] + c1[i] * s2[i]));
      }
    }
    return made;
  }

 private:
  /// The multiples of kStride that some position follows, ascending.
  static std::vector<Index> strides_of(const std::vector<Index>& turns) {
    std::vector<Index> strides;
    for (const Index turn : turns) {
      const Index stride = turn / kStride * kStride;
      if (strides.empty() || strides.back() != stride) strides.push_back(stride);
    }
    std::sort(strides.begin(), strides.end());
    strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
    return strides;
  }

  /// What is left of the positions beyond their strides, each once. Notes where it stands.
  std::vector<Index> rests_of(const std::vector<Index>& turns) {
    std::vector<Index> rests;
    for (const Index turn : turns) {
      const Index rest = turn % kStride;
      if (std::find(rests.begin(), rests.end(), rest) != rests.end()) continue;
      rest_of_[static_cast<std::size_t>(rest)] = rests.size();
      rests.push_back(rest);
    }
    return rests;
  }

  int sign_;
  std::size_t half_;
  std::vector<Index> strides_;
  std::array<std::size_t, kStride> rest_of_{};
  Rotations<double> whole_;  ///< by strides_
  Rotations<double> rest_;   ///< by rest_of_
};

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
  const auto tokens = static_cast<std::size_t>(*time_dim);
  const std::vector<Index> turns = turns_of(options);
  const Turner<T> turner(options, static_cast<std::size_t>(half), turns);
  Rotations<T> rotations = turner.rotations(turns.data(), tokens);
  Index row = 0;
  for (Index o = 0; o < outer; ++o) {
    if (o > 0 && !alike(options)) rotations = turner.rotations(turns.data() + o * *time_dim, tokens);
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
