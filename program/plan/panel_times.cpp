#include "program/plan/panel_times.h"

#include <algorithm>
#include <numeric>

#include "program/ops/run_phase.h"
#include "roofline/price/collective_cost.h"
#include "roofline/price/panel_cost.h"

namespace shardline {
namespace {

const Step& step_of(const RankProgram& program, int number) { return program.steps[static_cast<std::size_t>(number)]; }

Index parts(Index whole, Index part) { return (whole + part - 1) / part; }

/// A panel of a gather or of a scatter lies within the block of one rank.
Index count_of_panels(const RankProgram& program, const FusionGroup& group, Flops panel) {
  const Fusion& first = group.front();
  const std::vector<Range> ranges = index_ranges(program, step_of(program, first.computation), 0);
  const Index rows = ranges[static_cast<std::size_t>(first.index)].size();
  if (rows == 0) return 1;
  const Index of_panel = roofline::panel_rows(panel, first.work, rows);
  Index blocks = 1;
  const bool in_blocks = step_of(program, first.collective).kind != StepKind::all_reduce;
  for (const Axis& axis : in_blocks ? first.axes : Axes{}) blocks *= program.mesh.size(axis);
  blocks = std::min(blocks, rows);
  return blocks * parts(parts(rows, blocks), of_panel);
}

/// What one more panel of a product reads and writes once more.
Bytes bytes_again(const RankProgram& program, const Fusion& fusion) {
  const Step& work = step_of(program, fusion.computation);
  const Phase& phase = program.phase_of(work);
  Bytes again;
  for (std::size_t k = 0; k < work.operands.size(); ++k) {
    const Subscripts& subscripts = phase.operand_subscripts[k];
    const bool cut = std::find(subscripts.begin(), subscripts.end(), fusion.index) != subscripts.end();
    if (!cut) again += local_bytes(program, work.operands[k], 0);
  }
  if (fusion.contracted) again += local_bytes(program, work.results[0], 0) * 2;
  return again;
}

/// Of a collective that moves next to nothing.
Seconds latency_of(const RankProgram& program, const Step& collective, const roofline::Hardware& hardware) {
  roofline::Collective empty{.rounds = collective.kind == StepKind::all_reduce ? 2 : 1};
  for (const Axis& axis : collective.axes) empty.ranks.push_back(program.mesh.size(axis));
  return roofline::collective_price(empty, collective.axes, hardware).time;
}

}  // namespace

Seconds PanelTimes::computing() const { return std::accumulate(products.begin(), products.end(), Seconds()); }

Seconds PanelTimes::total(bool frees_cores) const {
  return frees_cores ? std::max(moving, computing()) + tail : moving + computing();
}

PanelTimes panel_times(const RankProgram& program, const FusionGroup& group, const std::vector<StepEstimate>& estimates,
                       const roofline::Hardware& hardware, Flops panel) {
  const auto estimate_of = [&](int number) { return estimates[static_cast<std::size_t>(number)]; };
  const Index panels = count_of_panels(program, group, panel);
  const auto more = static_cast<double>(panels - 1);
  PanelTimes times;
  for (const Fusion& fusion : group) {
    const StepEstimate whole = estimate_of(fusion.computation);
    Seconds cut = panels > 1 ? roofline::in_panels(whole.price.time, hardware) : whole.price.time;
    if (whole.price.limiter == roofline::Limiter::memory) {
      cut += bytes_again(program, fusion) * more / hardware.memory_rate(whole.bytes);
    }
    times.products.push_back(cut);
  }
  const Step& collective = step_of(program, group.front().collective);
  times.moving = estimate_of(group.front().collective).price.time;
  if (collective.kind == StepKind::all_reduce && panels > 1) {
    times.moving += latency_of(program, collective, hardware) * more;
  }
  times.tail = roofline::one_panel(times.computing(), times.moving, panel, group.front().work);
  return times;
}

}  // namespace shardline
