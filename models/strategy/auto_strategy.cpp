#include "models/strategy/auto_strategy.h"

#include <algorithm>

#include "models/strategy/strategy_space.h"
#include "program/cut/write_out.h"
#include "program/plan/compiled.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// How many strategies, the cheapest by the table, have their operations assigned by price too. That takes much longer
/// on a mesh of three axes: it tries what every axis may do in every operation.
constexpr std::size_t kTriedByPrice = 8;

}  // namespace

bool alike(const Axis& a, const Axis& b, const AbstractMesh& mesh, const roofline::Hardware& hardware) {
  if (mesh.size(a) != mesh.size(b)) return false;
  if (mesh.size(a) == 1) return true;
  const roofline::Link& one = hardware.link(a);
  const roofline::Link& other = hardware.link(b);
  return one.latency == other.latency && one.bandwidth == other.bandwidth && one.two_way == other.two_way &&
         one.frees_cores == other.frees_cores && one.switched == other.switched && one.resource == other.resource;
}

std::vector<PricedStrategy> price_strategies(const Program& program, const AbstractMesh& mesh, const Policy& policy,
                                             const roofline::Hardware& hardware, const ScheduleOptions& options,
                                             Index micro_batches) {
  const auto swap = [&](const Axis& a, const Axis& b) { return alike(a, b, mesh, hardware); };
  AxisRoles roles = roles_for(program, mesh);
  if (micro_batches == 1) roles = for_one_micro_batch(std::move(roles));
  const auto priced_program = [&](const Strategy& strategy, bool by_price) {
    const Declaration declaration = declare(program, mesh, strategy, policy);
    RankProgram part =
        by_price ? partition_by_price(program, mesh, declaration, hardware) : partition(program, mesh, declaration);
    const auto kept =
        compile(write_out(std::move(part), micro_batches).program, {.scheduling = options, .prices = hardware});
    return PricedStrategy{.strategy = strategy,
                          .by_price = by_price,
                          .price = price(kept->program(), hardware),
                          .peak = kept->liveness().peak(0)};
  };
  const auto sort = [](std::vector<PricedStrategy>& priced) {
    std::stable_sort(priced.begin(), priced.end(),
                     [](const PricedStrategy& a, const PricedStrategy& b) { return cheaper(a.price, b.price); });
  };
  std::vector<PricedStrategy> priced;
  for (const Strategy& strategy : strategies_of({.mesh = mesh, .roles = std::move(roles), .alike = swap})) {
    priced.push_back(priced_program(strategy, false));
  }
  sort(priced);
  for (std::size_t i = 0; i < std::min(priced.size(), kTriedByPrice); ++i) {
    PricedStrategy greedy = priced_program(priced[i].strategy, true);
    if (cheaper(greedy.price, priced[i].price)) priced[i] = std::move(greedy);
  }
  sort(priced);
  return priced;
}

const PricedStrategy& cheapest_that_fits(const std::vector<PricedStrategy>& strategies, Bytes memory) {
  Bytes least = strategies.at(0).peak;
  for (const PricedStrategy& each : strategies) {
    if (each.peak <= memory) return each;
    least = std::min(least, each.peak);
  }
  usage_error("no strategy fits: a rank has {}, every strategy needs {} or more", to_string(memory), to_string(least));
}

}  // namespace shardline
