#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::roofline {

/// Closed forms of book section 5.1: a layer is two products, In[B,D] * W_in[D,F] * W_out[F,D], in bf16; rings are
/// large (a ring of p moves V, not V (p-1)/p); what moves over X and over Y adds; all times are of one layer.

/// The two products of a layer: B tokens, D, F. Real numbers, since optima are.
struct TwoProducts {
  double tokens = 0;
  double d_model = 0;
  double d_ff = 0;
};

/// What a chip computes and what one torus axis carries, both ways of its ring together.
struct ChipRates {
  FlopsPerSecond compute;
  BytesPerSecond link;

  /// FLOPs that a chip could do while one byte moves over one torus axis: C / W.
  double intensity() const { return compute.value / link.value; }
};

/// Chips of a mesh {X, Y}: X for FSDP, Y for tensor parallelism, over M_X and M_Y torus axes.
struct MixedMesh {
  double x = 1;
  double y = 1;
  double x_torus_axes = 2;
  double y_torus_axes = 1;

  /// X Y
  double chips() const { return x * y; }
};

/// Which passes are counted, and whether the backward pass gathers In again or still has it from the forward pass.
enum class CountedPasses : std::uint8_t { forward, both_keeping, both_regathering };

/// By which factors the times are made: FLOPs = math BDF, bytes over X = fsdp DF / Y, bytes over Y = tensor BD / X.
struct PassFactors {
  double math = 0;
  double fsdp = 0;
  double tensor = 0;
};

/// forward: 4, 4, 4. With the backward pass: 12, 12 (W_in and W_out are gathered again and their gradients scattered)
/// and 8 (dOut gathered, dIn scattered) or, gathering In again, 10.
PassFactors factors_of(CountedPasses passes);

/// What a layer takes.
struct LayerTime {
  Seconds math;    ///< of a chip
  Seconds fsdp;    ///< over X
  Seconds tensor;  ///< over Y

  Seconds comms() const { return fsdp + tensor; }
  bool compute_bound() const { return comms() < math; }
};

/// FSDP over X with tensor parallelism over Y (book section 5.1.4). Nothing moves over an axis of one chip.
LayerTime mixed_time(const TwoProducts& layer, const ChipRates& chip, const MixedMesh& mesh, CountedPasses passes);

/// Data parallelism: gradients all_reduced, 8DF bytes, beside a backward pass of 8BDF / N (book section 5.1.1).
LayerTime data_parallel_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                             CountedPasses passes);

/// FSDP alone over all chips and torus axes (book section 5.1.2).
LayerTime fsdp_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                    CountedPasses passes);

/// Tensor parallelism alone (book section 5.1.3).
LayerTime tensor_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                      CountedPasses passes);

/// The X that makes communication of mixed_time() least, as a real number: sqrt(B M_X N / (F M_Y)) for the forward
/// pass, with the ratio of the tensor and fsdp factors under the root otherwise.
double optimal_x(const TwoProducts& layer, double chips, double x_torus_axes, double y_torus_axes,
                 CountedPasses passes);

/// The power of two X, with Y = chips / X, that makes communication of mixed_time() least, found by trying each.
/// An X or Y of all chips has all `torus_axes`. `chips` is a power of two.
MixedMesh best_mixed_mesh(const TwoProducts& layer, const ChipRates& chip, Index chips, double x_torus_axes,
                          double y_torus_axes, double torus_axes, CountedPasses passes);

/// Tokens per chip below which no mixed mesh is compute-bound: 4 (C/W)^2 / (M_X M_Y F) for the forward pass.
double least_tokens_per_chip(double intensity, double d_ff, double x_torus_axes, double y_torus_axes,
                             CountedPasses passes);

/// The least and largest X between which mixed_time() is compute-bound (book section 5.4.3: the roots of a quadratic,
/// within 1 and `chips`); none where no X is.
std::optional<std::pair<double, double>> compute_bound_x(const TwoProducts& layer, const ChipRates& chip, double chips,
                                                         double x_torus_axes, double y_torus_axes,
                                                         CountedPasses passes);

/// Tokens per chip below which data parallelism or FSDP alone is bound by communication: C / (W M).
double least_tokens_per_chip_fsdp(double intensity, double torus_axes);

/// Chips beyond which tensor parallelism alone is bound by communication: M F W / C for the forward pass.
double most_tensor_chips(double intensity, double d_ff, double torus_axes, CountedPasses passes);

/// Tokens per pod below which data parallelism between pods is bound by their network: C_pod / W_pod, where `between`
/// is what leaves one host (book section 5.1.6).
double least_tokens_per_pod(FlopsPerSecond chip, Index chips, Index chips_per_host, BytesPerSecond between);

/// A pipeline of `stages` fed with `microbatches` (book section 5.1.5): stages idle while it fills and drains.
struct PipelineTime {
  Seconds math;    ///< of all layers' forward and backward products on chips that are never idle
  Seconds bubble;  ///< (stages - 1) / microbatches of it
  Seconds comms;   ///< a stage's activations to the next and their gradients back, one hop, one way; and the all_reduce
                   ///< of the gradients of its layers over the chips that share them
};

/// All of `layers` layers on `chips` chips, `stages` of them one after the other, each stage's chips sharing the batch
/// by data parallelism over `torus_axes`.
PipelineTime pipeline_time(const TwoProducts& layer, Index layers, const ChipRates& chip, double chips,
                           double torus_axes, Index stages, Index microbatches);

/// The largest power of two not above `n`, which is at least 1.
Index power_of_two_below(Index n);

}  // namespace shardline::roofline
