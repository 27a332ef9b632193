#include "program/plan/choose_fusions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "program/plan/panel_times.h"
#include "program/plan/ring_fusion.h"
#include "program/price/estimate.h"
#include "roofline/price/panel_cost.h"

namespace shardline {
namespace {

/// Collectives that make an operand of the computation, or read its result.
std::set<int> neighbours(const RankProgram& program, const FlightRules& rules, const Step& computation) {
  std::set<int> all;
  const auto add = [&](int i) {
    if (i >= 0 && communicates(program.steps[static_cast<std::size_t>(i)].kind)) all.insert(i);
  };
  for (const VersionId v : computation.operands) add(rules.producer(v));
  const std::vector<int>& readers = rules.readers(computation.results[0]);
  std::for_each(readers.begin(), readers.end(), add);
  return all;
}

/// The time that a collective matmul saves.
Seconds gain_of(const FusionGroup& group, const RankProgram& program, const std::vector<StepEstimate>& estimates,
                const roofline::Hardware& hardware, Flops panel) {
  Seconds products;
  for (const Fusion& fusion : group) products += estimates[static_cast<std::size_t>(fusion.computation)].price.time;
  const Seconds moving = estimates[static_cast<std::size_t>(group.front().collective)].price.time;
  const PanelTimes fused = panel_times(program, group, estimates, hardware, panel);
  return moving + products - fused.total(frees_cores(group.front().axes, hardware));
}

/// The time that a group of rings saves. A ring takes the longer of moving and computing, plus a segment of the shorter
/// part. If moving needs the cores, it takes both. A gather that several rings leave out would run once.
Seconds gain_of(const RingGroup& group, const RankProgram& program, const std::vector<StepEstimate>& estimates,
                const roofline::Hardware& hardware) {
  std::set<int> left_out;
  Seconds apart, rings;
  for (const RingFusion& ring : group) {
    left_out.insert(ring.gathers.begin(), ring.gathers.end());
    left_out.insert(ring.scatters.begin(), ring.scatters.end());
    const Seconds work = estimates[static_cast<std::size_t>(ring.computation)].price.time;
    apart += work;
    rings += ring_time(work, ring_moves(program, ring, estimates), ring, program, hardware);
  }
  for (const int step : left_out) apart += estimates[static_cast<std::size_t>(step)].price.time;
  return apart - rings;
}

/// The arrays that a ring's gathers would bring; of those computed again, the first time.
std::set<ArrayId> gathered_arrays(const RankProgram& program, const RingFusion& ring) {
  std::set<ArrayId> arrays;
  for (const int gather : ring.gathers) {
    const ArrayId array = program.version(program.steps[static_cast<std::size_t>(gather)].operands[0]).array;
    const ArrayId first = program.program.array(array).repeats;
    arrays.insert(first < 0 ? array : first);
  }
  return arrays;
}

/// All computations that read the same arrays become rings, or none: in a program that computes some of them again
/// they may read what one gather brings.
void choose_rings(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options,
                  const std::vector<StepEstimate>& estimates, Fusions& chosen) {
  std::map<std::set<ArrayId>, RingGroup> by_arrays;
  for (const RingGroup& group : possible_rings(program)) {
    RingGroup& all = by_arrays[gathered_arrays(program, group.front())];
    all.insert(all.end(), group.begin(), group.end());
  }
  for (const auto& [arrays, group] : by_arrays) {
    const bool priced = options.fuse == ScheduleOptions::Fuse::priced && !options.rings_for_memory;
    if (priced && gain_of(group, program, estimates, hardware).value <= 0) continue;
    for (const RingFusion& ring : group) {
      const StepEstimate& work = estimates[static_cast<std::size_t>(ring.computation)];
      const Flops panel = work.flops * (roofline::panel_time(hardware) / work.price.time);
      chosen.rings.emplace(fusion_name(program, program.steps[static_cast<std::size_t>(ring.computation)]),
                           options.panel.value_or(panel));
    }
  }
}

}  // namespace

std::vector<FusionGroup> possible_fusions(const RankProgram& program, const FlightRules& rules, int computation) {
  std::vector<FusionGroup> possible;
  for (const int collective : neighbours(program, rules, program.steps[static_cast<std::size_t>(computation)])) {
    if (rules.starts_early(collective) || rules.ends_late(collective)) continue;
    FusionGroup group = fusion_of(program, collective, computation);
    if (!group.empty()) possible.push_back(std::move(group));
  }
  return possible;
}

Fusions choose_fusions(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options) {
  Fusions chosen;
  if (options.fuse == ScheduleOptions::Fuse::never) return chosen;
  const FlightRules rules(program, hardware, options);
  const std::vector<StepEstimate> estimates = estimate(program, hardware);
  choose_rings(program, hardware, options, estimates, chosen);
  std::set<int> taken;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind != StepKind::compute || taken.contains(static_cast<int>(i))) continue;
    std::optional<std::pair<Seconds, FusionGroup>> best;
    for (FusionGroup& group : possible_fusions(program, rules, static_cast<int>(i))) {
      const int collective = group.front().collective;
      bool open = !taken.contains(collective);
      for (const Fusion& fusion : group) open = open && !taken.contains(fusion.computation);
      if (!open) continue;
      const Seconds gain = gain_of(group, program, estimates, hardware, panel_of(options, hardware));
      if (options.fuse == ScheduleOptions::Fuse::priced && gain.value <= 0) continue;
      if (!best || gain > best->first) best = {gain, std::move(group)};
    }
    if (!best) continue;
    taken.insert(best->second.front().collective);
    for (const Fusion& fusion : best->second) {
      taken.insert(fusion.computation);
      chosen.products.emplace(fusion_name(program, program.steps[static_cast<std::size_t>(fusion.computation)]),
                              fusion);
    }
  }
  return chosen;
}

}  // namespace shardline
