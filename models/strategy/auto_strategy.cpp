#include "models/strategy/auto_strategy.h"

#include <algorithm>

#include "models/strategy/strategy_space.h"
#include "program/cut/write_out.h"
#include "program/plan/compiled.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

bool alike(const Axis& a, const Axis& b, const AbstractMesh& mesh, const roofline::Hardware& hardware) {
  if (mesh.size(a) != mesh.size(b)) return false;
  if (mesh.size(a) == 1) return true;
  const roofline::Link& one = hardware.link(a);
  const roofline::Link& other = hardware.link(b);
  return one.latency == other.latency && one.bandwidth == other.bandwidth && one.two_way == other.two_way &&
         one.frees_cores == other.frees_cores && one.switched == other.switched && one.resource == other.resource;
}

}  // namespace

std::vector<PricedStrategy> price_strategies(const Program& program, const AbstractMesh& mesh, const Policy& policy,
                                             const roofline::Hardware& hardware, const ScheduleOptions& options,
                                             Index micro_batches) {
  std::vector<PricedStrategy> priced;
  const auto swap = [&](const Axis& a, const Axis& b) { return alike(a, b, mesh, hardware); };
  AxisRoles roles = roles_for(program, mesh);
  if (micro_batches == 1) roles = for_one_micro_batch(std::move(roles));
  for (const Strategy& strategy : strategies_of({.mesh = mesh, .roles = std::move(roles), .alike = swap})) {
    const Declaration declaration = declare(program, mesh, strategy, policy);
    const RankProgram tabled = write_out(partition(program, mesh, declaration), micro_batches).program;
    const RankProgram greedy =
        write_out(partition_by_price(program, mesh, declaration, hardware), micro_batches).program;
    ProgramPrice by_table = price(tabled, hardware);
    ProgramPrice by_price = price(greedy, hardware);
    const bool pays = cheaper(by_price, by_table);
    const auto kept = compile(pays ? greedy : tabled, {.scheduling = options, .prices = hardware});
    priced.push_back({.strategy = strategy,
                      .by_price = pays,
                      .price = std::move(pays ? by_price : by_table),
                      .peak = kept->liveness().peak(0)});
  }
  std::stable_sort(priced.begin(), priced.end(),
                   [](const PricedStrategy& a, const PricedStrategy& b) { return cheaper(a.price, b.price); });
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
