#pragma once

#include "roofline/price/hardware.h"
#include "runtime/layout/abstract_mesh.h"

/// Machines of opposite kinds, for choices that must be right under any prices.
namespace shardline {

inline roofline::Hardware priced(const char* name, const AbstractMesh& mesh, roofline::Hardware hardware,
                                 const roofline::Link& link) {
  hardware.name = name;
  for (const Axis& axis : mesh.axes()) hardware.links[axis] = link;
  return hardware;
}

/// Only the bytes on the wire cost, and FLOPs a millionth as much.
inline roofline::Hardware bandwidth_bound(const AbstractMesh& mesh) {
  const roofline::Hardware chip{.matmul = FlopsPerSecond(1e9), .memory = BytesPerSecond(1e15), .overhead = Seconds(0)};
  return priced("bandwidth-bound", mesh, chip,
                {.latency = Seconds(0), .bandwidth = BytesPerSecond(1e3), .frees_cores = false});
}

/// Only the number of messages costs.
inline roofline::Hardware latency_bound(const AbstractMesh& mesh) {
  const roofline::Hardware chip{.matmul = FlopsPerSecond(1e15), .memory = BytesPerSecond(1e15), .overhead = Seconds(0)};
  return priced("latency-bound", mesh, chip,
                {.latency = Seconds(1), .bandwidth = BytesPerSecond(1e15), .frees_cores = false});
}

}  // namespace shardline
