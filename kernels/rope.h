#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// Slower rotations for sequences longer than those of the first training, as in LLaMA 3.1 (rope_type "llama3" of
/// Hugging Face). A pair that makes at least `high_freq_factor` turns in `original_positions` keeps its frequency. One
/// that makes at most `low_freq_factor` turns gets it divided by `factor`. Between them the frequency is interpolated.
struct RopeScaling {
  double factor = 1;              ///< at least 1
  double low_freq_factor = 1;     ///< positive
  double high_freq_factor = 4;    ///< larger than low_freq_factor
  double original_positions = 1;  ///< tokens of the longest sequence of the first training; positive

  bool operator==(const RopeScaling&) const = default;
};

/// Radians per position of each of the `half` pairs of a head: theta^(-i / half), then scaled. Source of the scaling:
/// `_compute_llama3_parameters` of Hugging Face's transformers. Throws Error if the numbers of `scaling` are not as
/// RopeScaling says.
std::vector<double> rope_frequencies(Index half, double theta, const std::optional<RopeScaling>& scaling = {});

struct RopeOptions {
  Index time_dim = 1;  ///< the dim of x that is T; not the last
  /// [T], or [B, T] where B are the dims of x before T: of each token, in any order. Below 0 with dims B: there is no
  /// token, and its elements stay.
  View<const std::int32_t> positions = {};
  /// [B, T], beside positions of [T]: the position at which the document of each token begins. A token turns
  /// by its position less this. Without dims: every document begins at 0.
  View<const std::int32_t> starts = {};
  double theta = 10000;  ///< base of the wavelengths
  int sign = 1;          ///< +1 turns forward; -1 turns back, as the gradient needs
  std::optional<RopeScaling> scaling = {};
};

/// Rotary position embedding in the rotate-half layout of Hugging Face. The pair (x[i], x[i + H/2])
/// of the last dim turns by position times rope_frequencies()[i]. x is [..., T, ..., H]; H is even and not split.
/// y has the same shape and may be x itself. S BFloat16, float or double; angles in f64. Equal positions turn by the
/// same bits, wherever they stand. Throws Error if H is odd, if time_dim is not before the last dim, if the shape of
/// positions or starts does not fit x, or if a token turns by less than 0.
template <class S>
void rope(View<const S> x, const RopeOptions& options, View<S> y);

/// Three operations per element; reads x, writes y.
Cost rope_cost(Index count, Index element_size);

}  // namespace shardline::kernels
