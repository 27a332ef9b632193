#include "roofline/price/hardware.h"

#include <algorithm>
#include <optional>

#include "runtime/base/check.h"

namespace shardline::roofline {

namespace {

/// The highest rate of the arithmetic of a call.
FlopsPerSecond ceiling(const Work& work, const Hardware& hardware) {
  if (work.m > 0) return hardware.gemm_rate(work.m, work.n, work.k);
  const auto own = hardware.kernels.find(std::string(work.kernel));
  return own == hardware.kernels.end() ? hardware.matmul : own->second;
}

Seconds latency(const Work& work, const Hardware& hardware) {
  const bool product = work.m > 0 || is_thin_product(work.kernel);
  const auto own = hardware.latencies.find(std::string(product ? kMatrixProduct : work.kernel));
  return own == hardware.latencies.end() ? Seconds(0) : own->second * work.cost.parts;
}

Seconds math_time(const Work& work, const Hardware& hardware) {
  return work.cost.flops.value == 0 ? Seconds(0) : work.cost.flops / ceiling(work, hardware);
}

Seconds memory_time(const Work& work, const Hardware& hardware) {
  Bytes touched;
  Seconds time;
  for (const Touch& touch : work.touches) {
    touched += touch.bytes;
    time += touch.bytes / hardware.memory_rate(touch.reach);
  }
  if (touched.value == 0) return work.cost.bytes / hardware.memory_rate(work.cost.bytes);
  return time * (work.cost.bytes / touched);  // a call need not use all of an array
}

/// The time in which a kernel takes an element from beyond the caches. Nothing if that was not measured. Between two
/// numbers of rows it grows evenly.
std::optional<Seconds> time_of_element(std::string_view kernel, Index rows, const Hardware& hardware) {
  std::optional<Seconds> before;
  Index rows_before = 0;
  for (const Index measured : kRowsFromMemory) {
    const auto rate = hardware.kernels.find(from_memory(kernel, measured));
    if (rate == hardware.kernels.end()) return std::nullopt;
    const Seconds time = Flops(2.0 * static_cast<double>(measured)) / rate->second;
    if (rows <= measured) {
      if (!before) return time;
      const double share = static_cast<double>(rows - rows_before) / static_cast<double>(measured - rows_before);
      return *before + (time - *before) * share;
    }
    before = time;
    rows_before = measured;
  }
  return before;
}

/// More than any cache holds.
constexpr Bytes kMoreThanCaches(1e15);

/// The time of a kernel to take what it reads from where it is. What the caches hold comes faster.
Seconds time_by_rows(const Work& work, Seconds by_bytes, const Hardware& hardware) {
  const std::optional<Seconds> element = time_of_element(work.kernel, work.cost.rows, hardware);
  if (!element) return by_bytes;
  const Seconds all_from_memory = work.cost.bytes / hardware.memory_rate(kMoreThanCaches);
  const double elements = work.cost.flops.value / (2.0 * static_cast<double>(work.cost.rows));
  return *element * elements * std::min(1.0, by_bytes / all_from_memory);
}

/// The bytes that the measurement of this product's rate touched. The largest extents of the grid price larger
/// ones.
Bytes measured_bytes(const Work& work, const Hardware& hardware) {
  const auto arrays = [](Index m, Index n, Index k) { return static_cast<double>(m * k + k * n + m * n); };
  const Index most = hardware.gemm.sizes().back();
  const double part =
      arrays(std::min(work.m, most), std::min(work.n, most), std::min(work.k, most)) / arrays(work.m, work.n, work.k);
  return work.cost.bytes * part;
}

/// The time that memory adds to the arithmetic of a product. `memory` is the time for all bytes.
Seconds added_by_memory(const Work& work, Seconds memory, const Hardware& hardware) {
  if (work.m == 0) return Seconds(0);
  if (hardware.gemm.empty()) return hardware.products_copy ? memory : Seconds(0);
  const Seconds measured = work.cost.bytes / hardware.memory_rate(measured_bytes(work, hardware));
  return std::max(Seconds(0), memory - measured);
}

}  // namespace

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

std::string from_memory(std::string_view kernel, Index rows) { return fmt::format("{}_{}", kernel, rows); }

BytesPerSecond Link::all_ways() const {
  if (sides.empty()) return two_way ? both_ways : bandwidth;
  BytesPerSecond sum;
  for (const TorusSide& side : sides) sum = sum + (side.wraps && side.ranks > 2 ? both_ways : bandwidth);
  return sum;
}

const Link& Hardware::link(const Axis& axis) const {
  const auto found = links.find(axis);
  SHARDLINE_CHECK(found != links.end(), "machine {} has no link for axis {}", name, axis);
  return found->second;
}

FlopsPerSecond Hardware::gemm_rate(Index m, Index n, Index k) const { return gemm.empty() ? matmul : gemm.at(m, n, k); }

BytesPerSecond Hardware::memory_rate(Bytes reach) const {
  return caches.empty() ? memory : BytesPerSecond(caches.at(reach.value));
}

Price kernel_price(const Work& work, const Hardware& hardware) {
  Price price;
  price.math = math_time(work, hardware);
  price.memory = memory_time(work, hardware);
  if (work.cost.rows > 0) price.memory = time_by_rows(work, price.memory, hardware);
  const Seconds busy = std::max(price.math + added_by_memory(work, price.memory, hardware), price.memory);
  const Seconds start = hardware.overhead + latency(work, hardware);
  price.time = start + busy;
  price.limiter = busy < start ? Limiter::latency : price.math >= price.memory ? Limiter::compute : Limiter::memory;
  return price;
}

Price message_price(const MessageWork& work, const Axes& axes, const Hardware& hardware) {
  Link slowest{Seconds(0), BytesPerSecond(0)};
  for (const Axis& axis : axes) {
    const Link& link = hardware.link(axis);
    slowest.latency = std::max(slowest.latency, link.latency);
    slowest.bandwidth = slowest.bandwidth.value == 0 ? link.bandwidth : std::min(slowest.bandwidth, link.bandwidth);
    slowest.frees_cores = slowest.frees_cores && link.frees_cores;
  }
  const Seconds latency = hardware.overhead + slowest.latency * work.messages;
  const Seconds wire = work.wire.value == 0 ? Seconds(0) : work.wire / slowest.bandwidth;
  const BytesPerSecond memory = hardware.memory_rate(std::max(work.local + work.kept, work.reach));
  const Seconds kept = work.kept / memory;
  const Seconds local = work.local / memory + kept - (slowest.frees_cores ? std::min(wire, kept) : Seconds(0));
  Price price = moving_price(latency, wire, local);
  if (hardware.cost_mode == CostMode::book_limit) {
    price.comms = std::max(latency, wire);
    price.time = std::max(price.comms, local);
  }
  return price;
}

Price moving_price(Seconds latency, Seconds wire, Seconds local) {
  const Seconds largest = std::max({latency, wire, local});
  const Limiter limiter = largest == latency ? Limiter::latency : largest == wire ? Limiter::link : Limiter::memory;
  return {.time = latency + wire + local, .limiter = limiter, .memory = local, .comms = latency + wire};
}

}  // namespace shardline::roofline
