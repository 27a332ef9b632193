#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/architecture/config.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/units.h"

namespace shardline {

// What a decode step moves between the chips of a slice, in closed form (book sections 7.3, 7.6 and exercise 7.7).
// Only activations move. A gather or a scatter of V bytes takes V over the bandwidth of its torus axes, as of large
// rings, and at least a hop for every chip half way round (section 7.6.3). What moves in a layer is added up. The
// embedding and the output projection move nothing here.

/// The links of a chip.
struct GenerationLinks {
  BytesPerSecond link = {};  ///< one torus axis, both ways together, or into a switch; 0: not known, nothing is priced
  double torus_axes = 1;     ///< 1 for a switch
  bool rings = true;         ///< else a switch joins the chips
  Seconds hop{1e-6};         ///< the latency of one link
  Bytes activation{2};       ///< bytes of an element that moves
};

/// Those of a chip of the catalogue. A hop takes 1 us.
GenerationLinks generation_links(const roofline::Chip& chip);

/// The widths of a layer that say what moves.
struct DecodeLayer {
  double layers = 0;
  double d_model = 0;
  double d_ff = 0;         ///< that a token passes: k F of k experts
  double up_products = 2;  ///< into d_ff: 2 with a gate
  double queries = 0;      ///< elements of all heads of a query
  double keys = 0;         ///< elements of keys and values that a token adds to a cache
  double outputs = 0;      ///< elements of all heads that attention gives
  double heads = 0;        ///< of queries
  double head_ways = 1;    ///< K: the most chips over which heads split a cache; 1 of latent attention
};

/// An average layer of the model.
DecodeLayer decode_layer(const TransformerConfig& config);

/// How the work of a step is split over the chips. All weights and caches are split over all chips in every way.
enum class DecodeSplit : std::uint8_t {
  alone,      ///< one chip
  heads,      ///< 1D: F and heads over Y, the stream whole; two AllReduces a layer (section 7.3.2)
  batch,      ///< 1D over Y and Z, caches by heads over Y and by sequences over Z: AllToAlls of q and o (section 7.3.3)
  positions,  ///< the same, with caches by positions over Z: q is gathered, o is scattered
  two_axes,   ///< 2D: D over X, F and heads over Y and Z; caches by heads over Y, by sequences over X and Z (ex. 7.7)
};

/// "1D", "1D, caches by batch", "1D, caches by positions", "2D", "one chip".
std::string_view name_of(DecodeSplit split);

/// One way and the time that it moves data in a step, in all layers.
struct LinkTime {
  DecodeSplit split = DecodeSplit::alone;
  double x = 1;  ///< chips over D
  double y = 1;  ///< chips over F and heads
  double z = 1;  ///< chips over F, and over the sequences or positions of caches
  Seconds time = {};
};

/// 1D: caches by heads up to K ways, beyond that by sequences; with fewer sequences than that by positions.
LinkTime one_axis_time(const DecodeLayer& layer, const GenerationLinks& links, double chips, double sequences);

/// The MLP of one layer in 1D: In is gathered and Out is scattered over all chips.
Seconds one_axis_mlp_time(const DecodeLayer& layer, const GenerationLinks& links, double chips, double sequences);

/// The same in 2D (exercise 7.7): In is gathered and Out is scattered over the chips beside X. The products up give
/// partial sums over X, which are scattered, and their result is gathered: together up_products + 1 arrays of F over
/// the chips beside X, as an AllReduce without a gate. X has one torus axis, the others those that are left.
Seconds two_axes_mlp_time(const DecodeLayer& layer, const GenerationLinks& links, double x, double chips,
                          double sequences);

/// 2D with X chips over D. Queries, keys and values are scattered over X into sequences, what attention gives is
/// gathered.
LinkTime two_axes_time(const DecodeLayer& layer, const GenerationLinks& links, double x, double chips,
                       double sequences);

/// 1D, and 2D with the power of two X that moves least. 2D is there only if X and the others have two chips and torus
/// axes of their own, and each of the chips that split sequences has one. The fastest is the first.
std::vector<LinkTime> link_times(const DecodeLayer& layer, const GenerationLinks& links, double chips,
                                 double sequences);

/// From so many chips on two_axes_mlp_time() with the best real X is less than one_axis_mlp_time(), if hops take no
/// time (exercise 7.7): N > 2 M^2 (g + 1) F / ((M - 1) D) with g products up on M torus axes; N > 2 (g + 1) F / D on a
/// switch. None on one torus axis.
std::optional<double> least_chips_for_two_axes(const DecodeLayer& layer, const GenerationLinks& links);

/// Up to so many chips reading the weights of a product takes longer than moving its activations over one torus axis
/// (section 7.3.2): Y < F / (B beta), beta being the bandwidth of memory over that of the link. A weight and an
/// activation have `weight` and links.activation bytes.
double most_chips_by_memory(double d_ff, Bytes weight, double sequences, BytesPerSecond memory,
                            const GenerationLinks& links);

/// Buffers of fewer bytes take a ring of so many chips longer by its hops than by its bytes, one way (section 7.6.3).
Bytes latency_bound_bytes(double chips, BytesPerSecond one_way, Seconds hop);

}  // namespace shardline
