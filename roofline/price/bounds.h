#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::roofline {

/// Closed forms of book section 5.1. A layer is two products, In[B,D] * W_in[D,F] * W_out[F,D], in bf16. Rings
/// are large: a ring of p moves V, not V (p-1)/p. The times over X and over Y add. All times are of one layer.

/// The two products of a layer with B tokens, D and F. They are real numbers, because optima are real numbers.
struct TwoProducts {
  double tokens = 0;
  double d_model = 0;
  double d_ff = 0;    ///< that a token passes: k F of k experts
  double held = 1;    ///< weights of the layer for each that a token passes: E / k with experts (section 4.4.1)
  double routed = 0;  ///< experts that each token is sent to: k
};

/// The rates of a chip: compute, and one torus axis with both directions of its ring together.
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

/// The passes that count. The backward pass gathers In again, or keeps it from the forward pass.
enum class CountedPasses : std::uint8_t { forward, both_keeping, both_regathering };

/// The factors of the times: FLOPs = math BDF, bytes over X = fsdp DF / Y, bytes over Y = tensor BD / X, AllToAlls of
/// experts of routing BD / X bytes.
struct PassFactors {
  double math = 0;
  double fsdp = 0;
  double tensor = 0;
  double routing = 0;
};

/// forward: 4, 4, 4, 4. With the backward pass: 12, 12, 8 or 10 if it gathers In again, and 8 as the AllToAlls keep
/// what they move. The fsdp factor 12 gathers W_in and W_out again and scatters their gradients. The tensor factor 8
/// gathers dOut and scatters dIn. With experts weights are TwoProducts::held times as many.
PassFactors factors_of(CountedPasses passes);

/// The times of one layer.
struct LayerTime {
  Seconds math;          ///< of a chip
  Seconds fsdp;          ///< over X
  Seconds tensor;        ///< over Y
  Seconds routing = {};  ///< over Z: tokens to their experts and back

  Seconds comms() const { return fsdp + tensor + routing; }
  bool compute_bound() const { return comms() < math; }
};

/// FSDP over X with tensor parallelism over Y (book section 5.1.4). Nothing moves over an axis of one chip.
LayerTime mixed_time(const TwoProducts& layer, const ChipRates& chip, const MixedMesh& mesh, CountedPasses passes);

/// Data parallelism (book section 5.1.1): an all_reduce of the gradients, 8DF bytes, beside a backward pass of
/// 8BDF / N.
LayerTime data_parallel_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                             CountedPasses passes);

/// FSDP alone over all chips and torus axes (book section 5.1.2).
LayerTime fsdp_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                    CountedPasses passes);

/// Tensor parallelism alone (book section 5.1.3).
LayerTime tensor_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                      CountedPasses passes);

/// The share of an AllGather's time that an AllToAll of the same array takes over an axis of `chips`: 1/4 on a ring
/// with links both ways (section 3.3.1); 1 / chips behind a switch, as a chip gets its own part in place of all.
double share_of_gather(double chips, bool rings);

/// Chips of a mesh {X, Z}: X for FSDP, Z for experts.
struct ExpertMesh {
  double x = 1;
  double z = 1;
  double x_torus_axes = 2;
  bool rings = true;  ///< else a switch joins the chips

  /// X Z
  double chips() const { return x * z; }
};

/// Expert sharding (exercise 7.6): W_in[E_Z, D_X, F], tokens over X and Z. FSDP moves only the experts of a chip's own
/// place on Z. In each pass an AllToAll over Z, which has one torus axis, takes every token to its experts and another
/// brings it back.
LayerTime expert_time(const TwoProducts& layer, const ChipRates& chip, const ExpertMesh& mesh, CountedPasses passes);

/// The power of two Z from 2 to the smaller of `chips` and `experts`, with X = chips / Z, for which expert_time() has
/// the least communication. X has `x_torus_axes`. `chips` is a power of two of at least 2, `experts` at least 2.
ExpertMesh best_expert_mesh(const TwoProducts& layer, const ChipRates& chip, Index chips, Index experts,
                            double x_torus_axes, bool rings, CountedPasses passes);

/// From so many tokens at a time on, products with the weights of a layer are compute-bound: a weight of `weight` bytes
/// is read once and multiplied for one token in `held` (sections 1.1 and 4.8: 240 for bf16, 120 E / k for experts in
/// int8). `intensity`: FLOPs of the chip for each byte of its memory.
double least_batch(double intensity, Bytes weight, double held);

/// The real number X for which mixed_time() has the least communication. For the forward pass it is sqrt(B M_X
/// N / (F M_Y)). For the others, the ratio of the tensor and fsdp factors is also under the root, and 1 / held.
double optimal_x(const TwoProducts& layer, double chips, double x_torus_axes, double y_torus_axes,
                 CountedPasses passes);

/// The power of two X, with Y = chips / X, for which mixed_time() has the least communication. Tries each X. If
/// X or Y has all chips, it also has all `torus_axes`. `chips` is a power of two.
MixedMesh best_mixed_mesh(const TwoProducts& layer, const ChipRates& chip, Index chips, double x_torus_axes,
                          double y_torus_axes, double torus_axes, CountedPasses passes);

/// Below this number of tokens per chip no mixed mesh is compute-bound: 4 (C/W)^2 / (M_X M_Y F) for the forward
/// pass, TwoProducts::held times as many with experts, F being k F.
double least_tokens_per_chip(double intensity, double d_ff, double x_torus_axes, double y_torus_axes,
                             CountedPasses passes);

/// mixed_time() is compute-bound between this least and this largest X. They are the roots of a quadratic,
/// limited to 1 and `chips` (book section 5.4.3). Empty if no X is compute-bound.
std::optional<std::pair<double, double>> compute_bound_x(const TwoProducts& layer, const ChipRates& chip, double chips,
                                                         double x_torus_axes, double y_torus_axes,
                                                         CountedPasses passes);

/// Below this number of tokens per chip, communication binds data parallelism or FSDP alone: C / (W M),
/// TwoProducts::held times as many with experts.
double least_tokens_per_chip_fsdp(double intensity, double torus_axes);

/// Above this number of chips, communication binds tensor parallelism alone: M F W / C for the forward pass.
double most_tensor_chips(double intensity, double d_ff, double torus_axes, CountedPasses passes);

/// Below this number of tokens per pod, the network between pods binds data parallelism between them: C_pod /
/// W_pod (book section 5.1.6). `between` is the bandwidth that leaves one host.
double least_tokens_per_pod(FlopsPerSecond chip, Index chips, Index chips_per_host, BytesPerSecond between);

/// A pipeline of `stages` with `microbatches` (book section 5.1.5). Stages idle while it fills and drains.
struct PipelineTime {
  Seconds math;    ///< forward and backward products of all layers, on chips that are never idle
  Seconds bubble;  ///< (stages - 1) / microbatches of `math`
  Seconds comms;   ///< activations to the next stage and their gradients back, one hop, one way; plus the all_reduce of
                   ///< a stage's gradients over its chips
};

/// The time of `layers` layers on `chips` chips, in `stages` stages one after the other. The chips of a stage
/// share the batch by data parallelism over `torus_axes`.
PipelineTime pipeline_time(const TwoProducts& layer, Index layers, const ChipRates& chip, double chips,
                           double torus_axes, Index stages, Index microbatches);

/// The largest power of two not above `n`, which is at least 1.
Index power_of_two_below(Index n);

}  // namespace shardline::roofline
