#include "roofline/measure/tuning_probe.h"

#include <algorithm>
#include <array>

#include "collectives/all_gather.h"
#include "collectives/all_reduce.h"
#include "collectives/reduce_scatter.h"
#include "collectives/shared/arena.h"
#include "roofline/measure/link_probe.h"
#include "roofline/measure/repeat.h"
#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

using collectives::Algorithm;
using collectives::Engine;
using collectives::Kind;
using collectives::LinkKind;
using collectives::Tuning;

constexpr std::array kAcrossNetworks{Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce};
constexpr std::array<Index, 5> kSmall{Index{1} << 10, Index{4} << 10, Index{16} << 10, Index{64} << 10,
                                      Index{256} << 10};
constexpr Index kLarge = Index{1} << 20;
constexpr std::array<Index, 5> kOnePass{Index{8} << 10, Index{64} << 10, Index{256} << 10, Index{1} << 20,
                                        Index{4} << 20};

/// Time of one collective. `bytes` is the size of its larger side.
Seconds time_of(Engine& engine, const Axis& axis, Kind kind, Algorithm algorithm, Index bytes, Seconds budget) {
  const Index ranks = engine.mesh().axes().size(axis);
  const Index piece = std::max<Index>(1, bytes / 4 / ranks);
  const Tensor whole = Tensor::zeros(DType::f32, {piece * ranks});
  const Tensor part = Tensor::zeros(DType::f32, {piece});
  Tensor out = Tensor::zeros(DType::f32, {kind == Kind::reduce_scatter ? piece : piece * ranks});
  const collectives::Options options{.algorithm = algorithm};
  return time_together(engine.mesh().comm(), {.budget = budget, .least = 5}, [&] {
    switch (kind) {
      case Kind::all_gather:
        return collectives::all_gather(engine, {axis}, part, 0, out, options);
      case Kind::reduce_scatter:
        return collectives::reduce_scatter(engine, {axis}, ReduceOp::sum, whole, 0, out, options);
      default:
        return collectives::all_reduce(engine, {axis}, ReduceOp::sum, whole, out, options);
    }
  });
}

/// Rules for one kind across nodes: `doubling` up to the largest size at which it is fastest, then the fastest
/// algorithm for large arrays.
void add_network_rules(Engine& engine, const Axis& axis, Kind kind, Seconds budget, std::vector<Tuning::Rule>& rules) {
  const Index ranks = engine.mesh().axes().size(axis);
  const auto time = [&](Algorithm algorithm, Index bytes) {
    return time_of(engine, axis, kind, algorithm, bytes, budget);
  };
  Algorithm best = Algorithm::ring;
  Seconds least = time(best, kLarge);
  for (const Algorithm each : {Algorithm::bidirectional, Algorithm::pairwise}) {
    const Seconds taken = time(each, kLarge);
    if (taken < least) best = each, least = taken;
  }
  Index small = 0;
  for (const Index bytes : kSmall) {
    if (time(Algorithm::doubling, bytes) < time(best, bytes)) small = bytes;
  }
  if (small > 0) rules.push_back({kind, LinkKind::network, ranks, small, Algorithm::doubling});
  rules.push_back({kind, LinkKind::network, ranks, Tuning::kAny, best});
}

/// The smallest tried size at which two passes are faster than one.
Index one_pass_limit(const Mesh& mesh, const Axis& axis, Seconds budget) {
  Engine engine(mesh);
  if (!collectives::give_arena(engine, 3 * kOnePass.back()).empty()) return 0;
  for (const Index bytes : kOnePass) {
    Tensor in = engine.arena()->allocate(DType::f32, {bytes / 4});
    Tensor out = engine.arena()->allocate(DType::f32, {bytes / 4});
    std::fill_n(in.view<float>().begin(), in.size(), 1.0F);
    const auto time = [&](Index limit) {
      Tuning tuning = engine.tuning();
      tuning.one_pass_bytes_of_two = limit;
      tuning.one_pass_bytes_of_more = limit;
      engine.set_tuning(tuning);
      return time_together(mesh.comm(), {.budget = budget, .least = 5}, [&] {
        collectives::all_reduce(engine, {axis}, ReduceOp::sum, in, out, {.algorithm = Algorithm::direct});
      });
    };
    if (time(0) < time(bytes + 1)) return bytes;
  }
  return kOnePass.back() + 1;
}

}  // namespace

Tuning probe_tuning(const Mesh& mesh, Seconds budget) {
  Tuning tuning = Tuning::built_in();
  std::vector<Tuning::Rule> rules;
  for (const Axis& axis : mesh.axes().axes_that_move()) {
    if (on_one_node(mesh, axis)) {
      const Index limit = one_pass_limit(mesh, axis, budget);
      if (limit > 0)
        (mesh.axes().size(axis) == 2 ? tuning.one_pass_bytes_of_two : tuning.one_pass_bytes_of_more) = limit;
      continue;
    }
    Engine engine(mesh);
    for (const Kind kind : kAcrossNetworks) add_network_rules(engine, axis, kind, budget, rules);
  }
  // A rule holds up to a number of ranks, so rules of fewer ranks come first. The built-in rules serve all
  // other cases.
  std::stable_sort(rules.begin(), rules.end(),
                   [](const Tuning::Rule& a, const Tuning::Rule& b) { return a.most_ranks < b.most_ranks; });
  tuning.rules.insert(tuning.rules.begin(), rules.begin(), rules.end());
  return tuning;
}

}  // namespace shardline::roofline
