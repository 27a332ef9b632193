#include "models/planning/generation_links.h"

#include <algorithm>
#include <cmath>

#include "models/architecture/accounting.h"
#include "roofline/price/bounds.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr double kSumBytes = 4;  // partial sums of attention move as f32

/// Hops half way round each of `axes` rings of `chips` chips together; one through a switch.
double hops_of(const GenerationLinks& links, double chips, double axes) {
  if (!links.rings) return 1;
  return std::max(1.0, axes * std::pow(chips, 1 / axes) / 2);
}

/// The time in which each of `chips` chips gathers or scatters an array of so many bytes, times `share`.
Seconds ring_time(const GenerationLinks& links, double bytes, double chips, double axes, double share = 1) {
  if (chips <= 1 || links.link.value == 0) return Seconds(0);
  return std::max(links.hop * hops_of(links, chips, axes), Bytes(bytes) * share / (links.link * axes));
}

/// The torus axes that the chips beside X have.
double axes_beside_x(const GenerationLinks& links) { return links.rings ? links.torus_axes - 1 : 1; }

/// Attention of 1D beyond the heads: q to where the caches lie, and what attention gives back again.
Seconds beyond_heads_time(const DecodeLayer& layer, const GenerationLinks& links, const LinkTime& way,
                          double sequences) {
  const double activation = links.activation.value;
  const double queries = sequences * layer.queries / way.y;
  const double outputs = sequences * layer.outputs / way.y;
  if (way.split != DecodeSplit::positions) {
    const double share = roofline::share_of_gather(way.z, links.rings);
    return ring_time(links, activation * queries, way.z, 1, share) +
           ring_time(links, activation * outputs, way.z, 1, share);
  }
  const double sums = outputs + 2 * sequences * layer.heads / way.y;  // a sum and a maximum beside each row
  return ring_time(links, activation * queries, way.z, 1) + ring_time(links, kSumBytes * sums, way.z, 1);
}

}  // namespace

GenerationLinks generation_links(const roofline::Chip& chip) {
  const bool rings = chip.torus_axes > 0;
  return {.link = rings ? chip.link * 2 : chip.link,
          .torus_axes = rings ? static_cast<double>(chip.torus_axes) : 1,
          .rings = rings};
}

DecodeLayer decode_layer(const TransformerConfig& config) {
  const LatentAttention& latent = config.latent;
  const bool is_latent = latent.cached > 0;
  const Index query = is_latent ? latent.cached + latent.rope_dim : config.head_dim;
  const Index output = is_latent ? latent.cached : config.head_dim;
  const Index keys = is_latent ? latent.cached + latent.rope_dim : 2 * config.kv_heads * config.head_dim;
  return {.layers = static_cast<double>(config.layers),
          .d_model = static_cast<double>(config.d_model),
          .d_ff = mean_widths(config).passed,
          .up_products = is_gated(config.mlp) ? 2.0 : 1.0,
          .queries = static_cast<double>(config.heads * query),
          .keys = static_cast<double>(keys),
          .outputs = static_cast<double>(config.heads * output),
          .heads = static_cast<double>(config.heads),
          .head_ways = is_latent ? 1 : static_cast<double>(config.kv_heads)};
}

std::string_view name_of(DecodeSplit split) {
  switch (split) {
    case DecodeSplit::alone:
      return "one chip";
    case DecodeSplit::heads:
      return "1D";
    case DecodeSplit::batch:
      return "1D, caches by batch";
    case DecodeSplit::positions:
      return "1D, caches by positions";
    case DecodeSplit::two_axes:
      return "2D";
  }
  throw Error("unknown way to split a decode step");
}

Seconds one_axis_mlp_time(const DecodeLayer& layer, const GenerationLinks& links, double chips, double sequences) {
  return 2 * ring_time(links, links.activation.value * sequences * layer.d_model, chips, links.torus_axes);
}

Seconds two_axes_mlp_time(const DecodeLayer& layer, const GenerationLinks& links, double x, double chips,
                          double sequences) {
  const double rows = links.activation.value * sequences;
  const double y = chips / x;
  return 2 * ring_time(links, rows * layer.d_model / x, y, axes_beside_x(links)) +
         (layer.up_products + 1) * ring_time(links, rows * layer.d_ff / y, x, 1);
}

LinkTime one_axis_time(const DecodeLayer& layer, const GenerationLinks& links, double chips, double sequences) {
  if (chips <= 1) return {};
  LinkTime way{.y = std::min(chips, layer.head_ways)};
  way.z = chips / way.y;
  way.split = way.z <= 1 ? DecodeSplit::heads : sequences < way.z ? DecodeSplit::positions : DecodeSplit::batch;
  Seconds of_layer = 2 * one_axis_mlp_time(layer, links, chips, sequences);  // attention's stream moves as the MLP's
  if (way.z > 1) of_layer += beyond_heads_time(layer, links, way, sequences);
  way.time = of_layer * layer.layers;
  return way;
}

LinkTime two_axes_time(const DecodeLayer& layer, const GenerationLinks& links, double x, double chips,
                       double sequences) {
  const double beside = chips / x;
  LinkTime way{.split = DecodeSplit::two_axes, .x = x, .y = std::min(beside, layer.head_ways)};
  way.z = beside / way.y;
  const double rows = links.activation.value * sequences;
  const Seconds stream = 2 * ring_time(links, rows * layer.d_model / x, beside, axes_beside_x(links));
  Seconds of_layer = two_axes_mlp_time(layer, links, x, chips, sequences) + stream;
  for (const double width : {layer.queries, layer.keys, layer.outputs}) {
    of_layer += ring_time(links, rows * width / beside, x, 1);
  }
  if (way.z > 1) of_layer += beyond_heads_time(layer, links, way, sequences / x);
  way.time = of_layer * layer.layers;
  return way;
}

std::vector<LinkTime> link_times(const DecodeLayer& layer, const GenerationLinks& links, double chips,
                                 double sequences) {
  std::vector<LinkTime> times = {one_axis_time(layer, links, chips, sequences)};
  std::optional<LinkTime> best;
  for (double x = 2; axes_beside_x(links) > 0 && 2 * x <= chips; x *= 2) {
    const LinkTime way = two_axes_time(layer, links, x, chips, sequences);
    if (sequences < way.x * way.z) continue;
    if (!best || way.time < best->time) best = way;
  }
  if (best) times.push_back(*best);
  std::stable_sort(times.begin(), times.end(), [](const LinkTime& a, const LinkTime& b) { return a.time < b.time; });
  return times;
}

std::optional<double> least_chips_for_two_axes(const DecodeLayer& layer, const GenerationLinks& links) {
  const double beside = axes_beside_x(links);
  if (beside <= 0) return std::nullopt;
  const double axes = links.rings ? links.torus_axes : 1;
  return 2 * axes * axes * (layer.up_products + 1) * layer.d_ff / (beside * layer.d_model);
}

double most_chips_by_memory(double d_ff, Bytes weight, double sequences, BytesPerSecond memory,
                            const GenerationLinks& links) {
  const double beta = memory.value / links.link.value;
  return d_ff * (weight / links.activation) / (sequences * beta);
}

Bytes latency_bound_bytes(double chips, BytesPerSecond one_way, Seconds hop) {
  return Bytes(chips * one_way.value * hop.value);
}

}  // namespace shardline
