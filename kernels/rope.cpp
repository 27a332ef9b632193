#include "kernels/rope.h"

#include <cmath>
#include <vector>

#include "kernels/lanes.h"
#include "kernels/rows.h"
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

/// Cosines and sines for every position and pair, [T, H/2] each.
template <class T>
struct Rotations {
  std::vector<T> cosine;
  std::vector<T> sine;
};

template <class T>
Rotations<T> make_rotations(const RopeOptions& options, Index half) {
  std::vector<double> frequencies;
  for (Index i = 0; i < half; ++i) {
    frequencies.push_back(std::pow(options.theta, -static_cast<double>(i) / static_cast<double>(half)));
  }
  Rotations<T> rotations;
  for (Index position = options.positions.begin; position < options.positions.end; ++position) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      rotations.cosine.push_back(static_cast<T>(std::cos(angle)));
      rotations.sine.push_back(static_cast<T>(options.sign * std::sin(angle)));
    }
  }
  return rotations;
}

template <class T>
void rotate(const T* x, const T* cosine, const T* sine, Index half, T* y) {
  for_lanes(half, [&](Index begin, auto count) {
    const Lanes<T> low = load(x + begin, count);
    const Lanes<T> high = load(x + half + begin, count);
    const Lanes<T> c = load(cosine + begin, count);
    const Lanes<T> s = load(sine + begin, count);
    store<T>(low * c - high * s, y + begin, count);
    store<T>(high * c + low * s, y + half + begin, count);
  });
}

}  // namespace

template <class T>
void rope(View<const T> x, const RopeOptions& options, View<T> y) {
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

template void rope(View<const float>, const RopeOptions&, View<float>);
template void rope(View<const double>, const RopeOptions&, View<double>);

}  // namespace shardline::kernels
