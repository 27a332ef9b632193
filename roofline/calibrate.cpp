#include "roofline/calibrate.h"

#include <algorithm>
#include <vector>

#include "collectives/collectives.h"
#include "kernels/gemm.h"
#include "runtime/base/check.h"
#include "runtime/blocks.h"
#include "runtime/trace.h"

namespace shardline::roofline {
namespace {

/// Runs `body` once to warm up, then for about `budget`, at least `least` times; the median time of one run on the
/// slowest rank.
template <class Body>
Seconds time_of(const mpi::Communicator& comm, Seconds budget, int least, Body body) {
  body();
  std::vector<double> times;
  const Seconds begin = now();
  // Every rank must run the body equally often: rank 0 says when it is enough.
  for (bool more = true; more;) {
    comm.barrier();
    const Seconds start = now();
    body();
    times.push_back(comm.max((now() - start).value));
    const bool enough = static_cast<int>(times.size()) >= least && now() - begin > budget;
    more = comm.broadcast(enough ? "" : "more", 0) == "more";
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return Seconds(times[times.size() / 2]);
}

template <class T>
FlopsPerSecond matmul_rate(const mpi::Communicator& comm) {
  constexpr Index kSize = 512;
  const std::vector<T> a(kSize * kSize, T(0.5));
  const std::vector<T> b(kSize * kSize, T(0.25));
  std::vector<T> c(kSize * kSize);
  const kernels::GemmShape shape{
      kernels::Transpose::no, kernels::Transpose::no, kSize, kSize, kSize, kSize, kSize, kSize};
  const Seconds time =
      time_of(comm, Seconds(0.4), 5, [&] { kernels::gemm<T>(shape, T(1), a.data(), b.data(), T(0), c.data()); });
  return Flops(2.0 * kSize * kSize * kSize) / time;
}

BytesPerSecond memory_rate(const mpi::Communicator& comm) {
  constexpr std::size_t kElements = 4 << 20;  // 32 MiB an array, three of them: beyond a core's share of the caches
  std::vector<double> a(kElements, 1);
  const std::vector<double> b(kElements, 2);
  const std::vector<double> c(kElements, 3);
  double factor = 0.5;
  const Seconds time = time_of(comm, Seconds(0.3), 3, [&] {
    for (std::size_t i = 0; i < kElements; ++i) a[i] = b[i] + factor * c[i];
    factor = a[kElements / 2] > 1 ? 0.25 : 0.5;  // the next round depends on this one
  });
  constexpr double kTouched = 4.0;  // two read, one written and read before that
  return Bytes(kTouched * sizeof(double) * kElements) / time;
}

Seconds all_gather_time(collectives::Engine& engine, const Axis& axis, Index elements, Seconds budget) {
  const Mesh& mesh = engine.mesh();
  const Range mine = nested_block(elements, {axis}, mesh.axes(), mesh.coordinates());
  const Tensor in = Tensor::zeros(DType::f32, {mine.size()});
  Tensor out(DType::f32, {elements});
  return time_of(mesh.comm(), budget, 5, [&] { collectives::all_gather(engine, {axis}, in, 0, out); });
}

/// Fits latency and bandwidth of one step to a small and a large all_gather.
Link link_of(collectives::Engine& engine, const Axis& axis) {
  const Index ranks = engine.mesh().axes().size(axis);
  const auto steps = static_cast<double>(ranks - 1);
  const Index large = std::max<Index>(ranks, 4 << 20);  // the whole array: 16 MiB, whatever the number of ranks
  const Seconds small_time = all_gather_time(engine, axis, ranks, Seconds(0.05));
  const Seconds large_time = all_gather_time(engine, axis, large, Seconds(0.2));
  const Bytes sent(4.0 * static_cast<double>(large - large / ranks));
  const double moving = std::max(large_time.value - small_time.value, large_time.value * 0.05);
  return {Seconds(small_time.value / steps), sent / Seconds(moving)};
}

}  // namespace

Hardware measure_briefly(collectives::Engine& engine, DType dtype) {
  const mpi::Communicator& comm = engine.mesh().comm();
  Hardware hardware;
  hardware.name = "this machine";
  hardware.matmul = dtype == DType::f64 ? matmul_rate<double>(comm) : matmul_rate<float>(comm);
  hardware.memory = memory_rate(comm);
  hardware.overhead = Seconds(1e-6);
  for (const Axis& axis : engine.mesh().axes().axes_that_move()) hardware.links[axis] = link_of(engine, axis);
  return hardware;
}

}  // namespace shardline::roofline
