#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/fusion.h"
#include "program/price/panel_cost.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What a rank does next with steps of its program.
enum class ActionKind : std::uint8_t {
  run,    ///< one step, begun and ended
  start,  ///< one collective, or several all_reduces as one: begun and left in flight
  wait,   ///< the same steps as a `start` before: ended
  fuse,   ///< a collective matmul: a collective and the computation that it feeds or that feeds it, in order
};

struct Action {
  ActionKind kind = ActionKind::run;
  std::vector<int> steps;  ///< numbers of steps
  bool polls = false;      ///< of a computation: collectives are in flight, which move only when they are polled
  bool operator==(const Action&) const = default;
};

/// The steps of a per-rank program in the order in which a rank begins and ends them. Pure data, equal on all ranks.
struct ProgramSchedule {
  std::vector<Action> actions;
  std::vector<int> begins;             ///< by step: the action that begins it
  std::vector<int> ends;               ///< by step: the action that ends it
  Flops panel = kPanelFlops;           ///< of matrix products beside which collectives move
  std::map<int, Fusion> fusions = {};  ///< by the number of a `fuse`: how its two steps become one
};

/// True when a step is one half of a collective matmul.
inline bool is_fused(const ProgramSchedule& schedule, std::size_t step) {
  return schedule.actions[static_cast<std::size_t>(schedule.begins[step])].kind == ActionKind::fuse;
}

/// How freely a program is scheduled.
struct ScheduleOptions {
  /// Collectives go on while the ranks compute, over axes where moving leaves the cores free.
  bool overlap = true;
  /// Regions (a layer of a pass) by which a gather of a parameter starts before the region that reads it, and after
  /// which a reduction of a gradient must have ended. More hides more and holds more memory.
  int distance = 1;
  /// All_reduces of at most so many bytes over the same axes travel together. 0: each alone.
  Index bundle_bytes = Index{64} << 10;
  /// Which collectives next to a matrix product are fused with it: none, those that the price favours, or all that can
  /// be.
  enum class Fuse : std::uint8_t { never, priced, always } fuse = Fuse::priced;
  Flops panel = kPanelFlops;  ///< work between two polls of a product beside which collectives move
};

/// Every step begun and ended at its place.
ProgramSchedule in_order(const RankProgram& program);

/// Starts gathers of parameters early, ends reductions where their results are first read, bundles small all_reduces
/// and fuses collectives with matrix products, as `options` allow and the prices of `hardware` say. These must be equal
/// on all ranks and from one run to the next, since what is bundled and fused decides the order of sums.
ProgramSchedule schedule(const RankProgram& program, const roofline::Hardware& hardware,
                         const ScheduleOptions& options);

/// True when the links that `step` moves over leave the cores free meanwhile.
bool frees_cores(const Step& step, const roofline::Hardware& hardware);

}  // namespace shardline
