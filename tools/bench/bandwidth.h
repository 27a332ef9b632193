#pragma once

#include "collectives/schedule/options.h"
#include "runtime/base/units.h"

namespace shardline::tools {

/// The bandwidths of a collective as the PERFORMANCE.md of nccl-tests defines them.
struct Bandwidths {
  BytesPerSecond algorithm;  ///< size over time
  BytesPerSecond bus;  ///< what every link carries: does not depend on the number of ranks when links are the limit
};

/// Bus bandwidth over algorithm bandwidth: (p - 1) / p for all_gather, reduce_scatter and all_to_all, 2 (p - 1) / p for
/// all_reduce, 1 for shift. Throws Error unless there are at least two ranks: one rank has no bus.
double bus_factor(collectives::Kind kind, Index ranks);

/// `bytes` is the gathered array of an all_gather or reduce_scatter, and what one rank holds of the others.
Bandwidths bandwidths(collectives::Kind kind, Index ranks, Bytes bytes, Seconds time);

}  // namespace shardline::tools
