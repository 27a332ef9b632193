#include "roofline/hardware.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::roofline {

std::string_view name_of(Limiter limiter) {
  switch (limiter) {
    case Limiter::compute:
      return "compute";
    case Limiter::memory:
      return "memory";
    case Limiter::link:
      return "link";
    case Limiter::latency:
      return "latency";
  }
  throw Error("unknown limiter");
}

const Link& Hardware::link(const Axis& axis) const {
  const auto found = links.find(axis);
  SHARDLINE_CHECK(found != links.end(), "machine {} has no link for axis {}", name, axis);
  return found->second;
}

Price kernel_price(const kernels::Cost& cost, const Hardware& hardware) {
  const Seconds math = cost.flops / hardware.matmul;
  const Seconds memory = cost.bytes / hardware.memory;
  const Seconds work = std::max(math, memory);
  const Limiter limiter = work < hardware.overhead ? Limiter::latency
                          : math >= memory         ? Limiter::compute
                                                   : Limiter::memory;
  return {hardware.overhead + work, limiter};
}

Price transfer_price(const Transfer& transfer, const Axes& axes, const Hardware& hardware) {
  Link slowest{Seconds(0), BytesPerSecond(0)};
  for (const Axis& axis : axes) {
    const Link& link = hardware.link(axis);
    slowest.latency = std::max(slowest.latency, link.latency);
    slowest.bandwidth = slowest.bandwidth.value == 0 ? link.bandwidth : std::min(slowest.bandwidth, link.bandwidth);
  }
  const Seconds latency = hardware.overhead + slowest.latency * transfer.steps;
  const Seconds wire = transfer.wire.value == 0 ? Seconds(0) : transfer.wire / slowest.bandwidth;
  const Seconds local = transfer.local / hardware.memory;
  const Seconds largest = std::max({latency, wire, local});
  const Limiter limiter = largest == latency ? Limiter::latency : largest == wire ? Limiter::link : Limiter::memory;
  return {latency + wire + local, limiter};
}

}  // namespace shardline::roofline
