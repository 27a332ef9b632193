#include "roofline/price/bounds.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

/// The time of `factor` BDF FLOPs, shared by all chips.
Seconds math_time(double factor, const TwoProducts& layer, const ChipRates& chip, double chips) {
  return Flops(factor * layer.tokens * layer.d_model * layer.d_ff / chips) / chip.compute;
}

/// The weights of one of the two products.
double weights_of(const TwoProducts& layer) { return layer.d_model * layer.d_ff * layer.held; }

Seconds moving_time(double bytes, const ChipRates& chip, double torus_axes) {
  if (bytes == 0) return Seconds(0);
  return Bytes(bytes) / (chip.link * torus_axes);
}

}  // namespace

PassFactors factors_of(CountedPasses passes) {
  switch (passes) {
    case CountedPasses::forward:
      return {4, 4, 4, 4};
    case CountedPasses::both_keeping:
      return {12, 12, 8, 8};
    case CountedPasses::both_regathering:
      return {12, 12, 10, 8};
  }
  throw Error("unknown passes");
}

LayerTime mixed_time(const TwoProducts& layer, const ChipRates& chip, const MixedMesh& mesh, CountedPasses passes) {
  const PassFactors factors = factors_of(passes);
  const double weights = mesh.x > 1 ? factors.fsdp * weights_of(layer) / mesh.y : 0;
  const double activations = mesh.y > 1 ? factors.tensor * layer.tokens * layer.d_model / mesh.x : 0;
  return {math_time(factors.math, layer, chip, mesh.chips()), moving_time(weights, chip, mesh.x_torus_axes),
          moving_time(activations, chip, mesh.y_torus_axes)};
}

LayerTime data_parallel_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                             CountedPasses passes) {
  const double bytes = passes == CountedPasses::forward || chips <= 1 ? 0 : 8 * weights_of(layer);
  return {math_time(factors_of(passes).math, layer, chip, chips), moving_time(bytes, chip, torus_axes), Seconds(0)};
}

LayerTime fsdp_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                    CountedPasses passes) {
  return mixed_time(layer, chip, {chips, 1, torus_axes, 1}, passes);
}

LayerTime tensor_time(const TwoProducts& layer, const ChipRates& chip, double chips, double torus_axes,
                      CountedPasses passes) {
  return mixed_time(layer, chip, {1, chips, 1, torus_axes}, passes);
}

double share_of_gather(double chips, bool rings) { return rings ? 0.25 : 1 / chips; }

LayerTime expert_time(const TwoProducts& layer, const ChipRates& chip, const ExpertMesh& mesh, CountedPasses passes) {
  const PassFactors factors = factors_of(passes);
  const double weights = mesh.x > 1 ? factors.fsdp * weights_of(layer) / mesh.z : 0;
  const double tokens = mesh.z > 1 ? factors.routing * layer.routed * layer.tokens * layer.d_model / mesh.x : 0;
  return {math_time(factors.math, layer, chip, mesh.chips()), moving_time(weights, chip, mesh.x_torus_axes), Seconds(0),
          moving_time(tokens * share_of_gather(mesh.z, mesh.rings), chip, 1)};
}

ExpertMesh best_expert_mesh(const TwoProducts& layer, const ChipRates& chip, Index chips, Index experts,
                            double x_torus_axes, bool rings, CountedPasses passes) {
  SHARDLINE_CHECK(chips >= 2 && chips == power_of_two_below(chips), "{} chips are no power of two from 2 on", chips);
  SHARDLINE_CHECK(experts >= 2, "{} experts; expert sharding splits at least 2", experts);
  ExpertMesh best;
  Seconds least;
  for (Index z = 2; z <= std::min(chips, experts); z *= 2) {
    const ExpertMesh mesh{static_cast<double>(chips / z), static_cast<double>(z), x_torus_axes, rings};
    const Seconds comms = expert_time(layer, chip, mesh, passes).comms();
    if (z == 2 || comms < least) {
      best = mesh;
      least = comms;
    }
  }
  return best;
}

double least_batch(double intensity, Bytes weight, double held) { return intensity * weight.value / 2 * held; }

double optimal_x(const TwoProducts& layer, double chips, double x_torus_axes, double y_torus_axes,
                 CountedPasses passes) {
  const PassFactors factors = factors_of(passes);
  return std::sqrt(factors.tensor * layer.tokens * x_torus_axes * chips /
                   (factors.fsdp * layer.d_ff * layer.held * y_torus_axes));
}

MixedMesh best_mixed_mesh(const TwoProducts& layer, const ChipRates& chip, Index chips, double x_torus_axes,
                          double y_torus_axes, double torus_axes, CountedPasses passes) {
  SHARDLINE_CHECK(chips == power_of_two_below(chips), "{} chips are no power of two", chips);
  MixedMesh best;
  Seconds least;
  for (Index x = 1; x <= chips; x *= 2) {
    const MixedMesh mesh{static_cast<double>(x), static_cast<double>(chips / x), x == chips ? torus_axes : x_torus_axes,
                         x == 1 ? torus_axes : y_torus_axes};
    const Seconds comms = mixed_time(layer, chip, mesh, passes).comms();
    if (x == 1 || comms < least) {
      best = mesh;
      least = comms;
    }
  }
  return best;
}

double least_tokens_per_chip(double intensity, double d_ff, double x_torus_axes, double y_torus_axes,
                             CountedPasses passes) {
  const PassFactors factors = factors_of(passes);
  const double weight = factors.fsdp * factors.tensor / (factors.math * factors.math);
  return 4 * weight * intensity * intensity / (x_torus_axes * y_torus_axes * d_ff);
}

std::optional<std::pair<double, double>> compute_bound_x(const TwoProducts& layer, const ChipRates& chip, double chips,
                                                         double x_torus_axes, double y_torus_axes,
                                                         CountedPasses passes) {
  // fsdp F held X / (N M_X) + tensor B / (X M_Y) = math B F / (N alpha), times X: a X^2 - b X + c = 0
  const PassFactors factors = factors_of(passes);
  const double a = factors.fsdp * layer.d_ff * layer.held / (chips * x_torus_axes);
  const double b = factors.math * layer.tokens * layer.d_ff / (chips * chip.intensity());
  const double c = factors.tensor * layer.tokens / y_torus_axes;
  const double under_root = b * b - 4 * a * c;
  if (under_root < 0) return std::nullopt;
  const double middle = b / (2 * a);
  const double half = std::sqrt(under_root) / (2 * a);
  if (middle + half < 1 || middle - half > chips) return std::nullopt;
  return std::pair{std::max(1.0, middle - half), std::min(chips, middle + half)};
}

double least_tokens_per_chip_fsdp(double intensity, double torus_axes) { return intensity / torus_axes; }

double most_tensor_chips(double intensity, double d_ff, double torus_axes, CountedPasses passes) {
  const PassFactors factors = factors_of(passes);
  return torus_axes * d_ff / intensity * (factors.math / factors.tensor);
}

double least_tokens_per_pod(FlopsPerSecond chip, Index chips, Index chips_per_host, BytesPerSecond between) {
  const double hosts = static_cast<double>(chips) / static_cast<double>(chips_per_host);
  return chip.value * static_cast<double>(chips) / (between.value * hosts);
}

PipelineTime pipeline_time(const TwoProducts& layer, Index layers, const ChipRates& chip, double chips,
                           double torus_axes, Index stages, Index microbatches) {
  PipelineTime time;
  const auto count = static_cast<double>(layers);
  const auto parts = static_cast<double>(stages);
  time.math = math_time(factors_of(CountedPasses::both_keeping).math, layer, chip, chips) * count;
  time.bubble = time.math * (static_cast<double>(stages - 1) / static_cast<double>(microbatches));
  const double activations = stages == 1 ? 0 : 2 * layer.tokens * layer.d_model / (chips / parts);
  const double gradients = chips > parts ? 8 * weights_of(layer) * count / parts : 0;
  time.comms = moving_time(2 * activations, chip, 0.5) + moving_time(gradients, chip, torus_axes);
  return time;
}

Index power_of_two_below(Index n) {
  SHARDLINE_CHECK(n >= 1, "{} has no power of two below it", n);
  Index power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

}  // namespace shardline::roofline
