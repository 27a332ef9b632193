#pragma once

#include <cstdint>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// Who moves the data: `ring`, a schedule of ours round the ring of positions, or `native`, the MPI library's own
/// collective (an oracle and a baseline: its order of summation is its own).
enum class Algorithm : std::uint8_t { ring, native };

/// Large enough that one segment's latency is small beside its transfer, small enough to stay in a core's cache between
/// its arrival and its addition.
inline constexpr Index kDefaultSegmentBytes = 512 * 1024;

/// How a collective is carried out. Every rank of the group must give the same values.
struct Options {
  Algorithm algorithm = Algorithm::ring;
  /// Chunks travel in segments of this many bytes, rounded down to whole elements (at least one); from 1 to 2^30.
  Index segment_bytes = kDefaultSegmentBytes;
};

}  // namespace shardline::collectives
