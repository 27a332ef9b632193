#include "program/plan/choose_fusions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

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

/// The time that fusion saves. A collective matmul takes the longer part plus one panel of the
/// shorter part. If moving needs the cores, it takes both parts.
Seconds gain_of(Seconds moving, const StepEstimate& computation, bool frees, const roofline::Hardware& hardware,
                Flops panel) {
  const Seconds cut = roofline::in_panels(computation.price.time, hardware);
  const Seconds apart = moving + computation.price.time;
  if (!frees) return apart - (moving + cut);
  return apart - (std::max(moving, cut) + roofline::one_panel(cut, moving, panel, computation.flops));
}

}  // namespace

std::vector<Fusion> possible_fusions(const RankProgram& program, const FlightRules& rules, int computation) {
  std::vector<Fusion> possible;
  for (const int collective : neighbours(program, rules, program.steps[static_cast<std::size_t>(computation)])) {
    if (rules.starts_early(collective) || rules.ends_late(collective)) continue;
    if (const std::optional<Fusion> fusion = fusion_of(program, collective, computation)) possible.push_back(*fusion);
  }
  return possible;
}

Fusions choose_fusions(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options) {
  Fusions chosen;
  if (options.fuse == ScheduleOptions::Fuse::never) return chosen;
  const FlightRules rules(program, hardware, options);
  const std::vector<StepEstimate> estimates = estimate(program, hardware);
  std::set<int> taken;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind != StepKind::compute) continue;
    std::optional<std::pair<Seconds, Fusion>> best;
    for (const Fusion& fusion : possible_fusions(program, rules, static_cast<int>(i))) {
      if (taken.contains(fusion.collective)) continue;
      const Seconds moving = estimates[static_cast<std::size_t>(fusion.collective)].price.time;
      const Seconds gain =
          gain_of(moving, estimates[i], frees_cores(fusion.axes, hardware), hardware, panel_of(options, hardware));
      if (options.fuse == ScheduleOptions::Fuse::priced && gain.value <= 0) continue;
      if (!best || gain > best->first) best = {gain, fusion};
    }
    if (!best) continue;
    taken.insert(best->second.collective);
    chosen.emplace(fusion_name(program, program.steps[i]), best->second);
  }
  return chosen;
}

}  // namespace shardline
