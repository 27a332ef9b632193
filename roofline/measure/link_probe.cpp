#include "roofline/measure/link_probe.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "collectives/all_gather.h"
#include "collectives/reduce_scatter.h"
#include "collectives/shared/arena.h"
#include "collectives/shift.h"
#include "kernels/gemm/gemm.h"
#include "roofline/measure/repeat.h"
#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

using collectives::Algorithm;
using collectives::Engine;

constexpr std::array<Index, 6> kMessages{64, 1024, 8192, 65536, 262144, 1048576};
/// Bytes that a rank reads from the others.
constexpr std::array<Index, 6> kPieces{Index{16} << 10, Index{64} << 10, Index{256} << 10,
                                       Index{1} << 20,  Index{4} << 20,  Index{16} << 20};

struct Sample {
  double bytes = 0;
  Seconds time;
};

/// The time of one message to the next rank of the axis. With `both`, another message goes to the rank before.
/// Messages follow each other without a pause. A first series drains the buffers of the links.
Seconds message_time(Engine& engine, const Axis& axis, Index bytes, bool both, Seconds budget) {
  const Tensor in = Tensor::zeros(DType::f32, {bytes / 4});
  Tensor forward = Tensor::zeros(DType::f32, {bytes / 4});
  Tensor backward = Tensor::zeros(DType::f32, {bytes / 4});
  const collectives::Options ring{.algorithm = Algorithm::ring};
  const auto send = [&] {
    collectives::Handle there = collectives::start_shift(engine, {axis}, in, 1, forward, ring);
    if (both) collectives::start_shift(engine, {axis}, in, -1, backward, ring).wait();
    there.wait();
  };
  const mpi::Communicator& comm = engine.mesh().comm();
  const Seconds once = time_together(comm, {.budget = budget * 0.1, .least = 3}, send);
  const int series = std::clamp(static_cast<int>(budget / once), 3, 1000);
  const auto send_all = [&] {
    for (int i = 0; i < series; ++i) send();
  };
  send_all();
  comm.barrier();
  const Seconds begin = now();
  send_all();
  return Seconds(comm.max((now() - begin).value / series));
}

/// latency + bytes / bandwidth.
struct Line {
  Seconds latency;
  BytesPerSecond bandwidth;
  double residual = 0;  ///< largest |measured / fitted - 1|
};

/// Bandwidth comes from the two largest messages, which depend least on anything else. Then latency comes from
/// the two smallest.
Line fit(const std::vector<Sample>& samples) {
  const Sample& largest = samples.back();
  const Sample& second = samples[samples.size() - 2];
  // Noise must not make the time of a large message negative.
  const Seconds more = std::max(largest.time - second.time, largest.time * 0.1);
  Line line{Seconds(), Bytes(largest.bytes - second.bytes) / more};
  for (std::size_t i = 0; i < 2; ++i) {
    const Seconds rest = samples[i].time - Bytes(samples[i].bytes) / line.bandwidth;
    line.latency += 0.5 * std::max(rest, samples[i].time * 0.1);
  }
  for (const auto& [bytes, time] : samples) {
    const Seconds fitted = line.latency + Bytes(bytes) / line.bandwidth;
    line.residual = std::max(line.residual, std::abs(time / fitted - 1));
  }
  return line;
}

std::vector<Sample> message_samples(Engine& engine, const Axis& axis, bool both, Seconds budget) {
  std::vector<Sample> samples;
  for (const Index bytes : kMessages) {
    samples.push_back({static_cast<double>(bytes), message_time(engine, axis, bytes, both, budget)});
  }
  return samples;
}

/// How ranks read each other's arrays.
struct SharedUse {
  bool adds = false;  ///< adds instead of copying
  bool again =
      false;  ///< true: reads the same arrays again; false: first writes them anew and then touches other memory
};

/// Reads `received` bytes from the other ranks of an axis.
Seconds shared_time(Engine& engine, const Axis& axis, Index received, SharedUse use, Seconds budget) {
  const Index ranks = engine.mesh().axes().size(axis);
  const Index piece = std::max<Index>(1, received / 4 / (ranks - 1));
  collectives::Arena& arena = *engine.arena();
  const Tensor large = arena.allocate(DType::f32, {piece * ranks});
  // The own piece is already in its place, so only reading from others is timed.
  const Index own = engine.mesh().axes().position_in_group(engine.mesh().rank(), {axis}) * piece;
  const Tensor small = use.adds ? arena.allocate(DType::f32, {piece}) : large.rows({own, own + piece});
  Tensor in = use.adds ? large : small;
  Tensor out = use.adds ? small : large;
  const collectives::Options direct{.algorithm = Algorithm::direct};
  const auto read = [&] {
    if (use.adds) {
      collectives::reduce_scatter(engine, {axis}, ReduceOp::sum, in, 0, out, direct);
    } else {
      collectives::all_gather(engine, {axis}, in, 0, out, direct);
    }
  };
  constexpr std::size_t kElsewhere = std::size_t{1} << 20;  // doubles: larger than a core's own cache
  std::vector<double> elsewhere(kElsewhere, 1);
  const auto make = [&] {
    if (use.again) return;
    std::fill_n(in.view<float>().begin(), in.size(), 1.0F);
    for (double& value : elsewhere) value *= 0.5;
  };
  std::fill_n(in.view<float>().begin(), in.size(), 1.0F);
  return time_together(engine.mesh().comm(), {.budget = budget, .least = 5}, read, make);
}

Curve shared_curve(Engine& engine, const Axis& axis, SharedUse use, Seconds latency, Seconds budget) {
  std::vector<Curve::Point> points;
  for (const Index bytes : kPieces) {
    const Seconds time = shared_time(engine, axis, bytes, use, budget);
    const Seconds moving = std::max(time - latency, time * 0.05);
    points.push_back({static_cast<double>(bytes), (Bytes(static_cast<double>(bytes)) / moving).value});
  }
  return Curve(std::move(points));
}

SharedMemory probe_shared_memory(Engine& engine, const Axis& axis, Seconds budget) {
  constexpr Index kNothing = 64;
  const Seconds latency = shared_time(engine, axis, kNothing, {.again = true}, budget);
  const auto curve = [&](SharedUse use) { return shared_curve(engine, axis, use, latency, budget); };
  return {latency, curve({false, false}), curve({true, false}), curve({false, true}), curve({true, true})};
}

/// The share of a computing core that messages take: the extra time of products beside messages, over the time
/// of the messages alone.
double probe_core_share(Engine& engine, const Axis& axis, const Line& line, Seconds budget) {
  const mpi::Communicator& comm = engine.mesh().comm();
  // Enough bytes to fill the budget. The products beside them take longer.
  constexpr double kMost = Index{32} << 20;
  const auto bytes = static_cast<Index>(comm.min(std::min(kMost, budget.value * line.bandwidth.value))) / 4 * 4;
  const Seconds moving = message_time(engine, axis, bytes, false, budget);

  constexpr Index kSize = 128;  // a product of some hundred microseconds between two polls
  const std::vector<float> a(kSize * kSize, 0.5F), b(kSize * kSize, 0.25F);
  std::vector<float> c(kSize * kSize);
  const kernels::GemmShape shape{
      kernels::Transpose::no, kernels::Transpose::no, kSize, kSize, kSize, kSize, kSize, kSize};
  const auto multiply = [&](Index times) {
    for (Index i = 0; i < times; ++i) {
      kernels::gemm(shape, a.data(), b.data(), c.data());
      engine.poll();
    }
  };
  const Seconds one = time_busy(comm, {.budget = budget * 0.1, .least = 10}, [&] { multiply(1); });
  const auto times = static_cast<Index>(2 * (moving / one)) + 1;
  const Seconds alone = time_together(comm, {.budget = budget, .least = 3}, [&] { multiply(times); });
  const Tensor in = Tensor::zeros(DType::f32, {bytes / 4});
  Tensor out = Tensor::zeros(DType::f32, {bytes / 4});
  const Seconds beside = time_together(comm, {.budget = budget, .least = 3}, [&] {
    collectives::Handle there = collectives::start_shift(engine, {axis}, in, 1, out, {.algorithm = Algorithm::ring});
    multiply(times);
    there.wait();
  });
  return std::clamp((beside - alone) / moving, 0.0, 1.0);
}

/// If both ways together are faster than this times one way, there is one link for each way.
constexpr double kTwoLinks = 1.5;

/// Number of budgets until reading from others is steady. A network needs more.
constexpr double kSteady = 15;
constexpr double kNetworkSteady = 20;

Resource probe_axis(Engine& engine, const Axis& axis, Seconds budget) {
  const bool node = on_one_node(engine.mesh(), axis);
  const Seconds of_messages = (node ? 1 : kNetworkSteady) * budget;
  const Line one_way = fit(message_samples(engine, axis, false, of_messages));
  const Line both_ways = fit(message_samples(engine, axis, true, of_messages));
  Resource resource{.kind = ResourceKind::switched,
                    .latency = one_way.latency,
                    .one_way = one_way.bandwidth,
                    .both_ways = 2 * both_ways.bandwidth,
                    .residual = std::max(one_way.residual, both_ways.residual)};
  if (!node) {
    const bool ring = engine.mesh().axes().size(axis) > 2 && resource.both_ways > kTwoLinks * resource.one_way;
    if (ring) resource.kind = ResourceKind::ring;
    resource.core_share = probe_core_share(engine, axis, one_way, of_messages);
    return resource;
  }
  resource.kind = ResourceKind::shared_memory;
  resource.core_share = 1;
  if (engine.arena() != nullptr) resource.shared = probe_shared_memory(engine, axis, kSteady * budget);
  return resource;
}

}  // namespace

bool on_one_node(const Mesh& mesh, const Axis& axis) {
  return mesh.comm().max(mesh.group({axis}).one_node ? 0 : 1) == 0;
}

Links probe_links(const Mesh& mesh, Seconds budget) {
  Engine engine(mesh);
  const Axes axes = mesh.axes().axes_that_move();
  // The two arrays of the largest exchange. Two ranks need the most memory beyond the bytes that they read.
  const bool shares = std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return on_one_node(mesh, axis); });
  if (shares) collectives::give_arena(engine, 4 * kPieces.back());
  Links links;
  for (const Axis& axis : axes) {
    const std::string name = fmt::format("{} {}", on_one_node(mesh, axis) ? "node memory" : "network", axis);
    links.axes[axis] = name;
    links.resources[name] = probe_axis(engine, axis, budget);
  }
  return links;
}

}  // namespace shardline::roofline
