#pragma once

#include "collectives/schedule/options.h"
#include "runtime/base/units.h"

namespace shardline::tools {

/// The bandwidths of a collective, as in PERFORMANCE.md of nccl-tests.
struct Bandwidths {
  BytesPerSecond algorithm;  ///< size over time
  BytesPerSecond bus;        ///< load of every link; independent of the number of ranks if links are the limit
};

/// Bus bandwidth over algorithm bandwidth: (p - 1) / p for all_gather, reduce_scatter and
/// all_to_all, 2 (p - 1) / p for all_reduce, 1 for shift. Throws Error below two ranks: one rank
/// has no bus.
double bus_factor(collectives::Kind kind, Index ranks);

/// `bytes` is the gathered array of an all_gather or reduce_scatter; for the others the array of
/// one rank.
Bandwidths bandwidths(collectives::Kind kind, Index ranks, Bytes bytes, Seconds time);

}  // namespace shardline::tools
