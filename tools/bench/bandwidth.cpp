#include "tools/bench/bandwidth.h"

#include "runtime/base/check.h"

namespace shardline::tools {

using collectives::Kind;

double bus_factor(Kind kind, Index ranks) {
  SHARDLINE_CHECK(ranks >= 2, "{} rank(s) have no bus", ranks);
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (kind) {
    case Kind::all_gather:
    case Kind::reduce_scatter:
    case Kind::all_to_all:
      return others;
    case Kind::all_reduce:
      return 2 * others;
    case Kind::shift:
      return 1;
  }
  throw Error("unknown kind of collective");
}

Bandwidths bandwidths(Kind kind, Index ranks, Bytes bytes, Seconds time) {
  const BytesPerSecond algorithm = bytes / time;
  return {algorithm, BytesPerSecond(algorithm.value * bus_factor(kind, ranks))};
}

}  // namespace shardline::tools
