#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/fusion.h"
#include "program/plan/ring_fusion.h"
#include "roofline/price/hardware.h"
#include "roofline/price/panel_cost.h"

namespace shardline {

/// The next thing that a rank does.
enum class ActionKind : std::uint8_t {
  run,    ///< begin and end one step
  start,  ///< begin one collective, or several all_reduces as one, and leave it in flight
  wait,   ///< end the steps of an earlier `start`
  fuse,   ///< a collective matmul: a gather and the products that read it, or a product and its reduction, in order
  ring,   ///< a computation that takes blocks from a ring, and the collectives that it leaves out
  sweep,  ///< elementwise computations, in order, strip by strip (see Strips)
};

struct Action {
  ActionKind kind = ActionKind::run;
  std::vector<int> steps;  ///< step numbers
  bool polls = false;      ///< before a computation: something is in flight, and moves only when it is polled
  /// Of a `start`: all_reduces small enough to travel as one. Which of them do must not decide the order of a sum.
  bool uniform = false;
  bool operator==(const Action&) const = default;
};

/// The order in which a rank begins and ends the steps of its program. Pure data, equal on all
/// ranks.
struct ProgramSchedule {
  std::vector<Action> actions;
  std::vector<int> begins;  ///< by step: the action that begins it
  std::vector<int> ends;    ///< by step: the action that ends it
  Flops panel{};            ///< work of one panel of a matrix product beside collectives
  /// Products are cut into panels, because collectives may be in flight beside them. So it is for all products of a
  /// program or none: what is in flight must not decide the order of a sum.
  bool cuts = false;
  std::map<int, FusionGroup> fusions = {};  ///< by the action number of a `fuse`: how its steps become one
  std::map<int, RingFusion> rings = {};     ///< by the action number of a `ring`
  /// By step: products that run in the panels of a fusion, in its order, without the collective. What they gather is
  /// there already.
  std::map<int, Fusion> alone = {};
  Index strip_bytes = 0;  ///< what a strip of a sweep takes, see Strips
};

/// The kind of the action that begins the step.
inline ActionKind kind_of(const ProgramSchedule& schedule, std::size_t step) {
  return schedule.actions[static_cast<std::size_t>(schedule.begins[step])].kind;
}
/// True if the step is a part of a collective matmul or of a ring.
inline bool is_fused(const ProgramSchedule& schedule, std::size_t step) {
  const ActionKind kind = kind_of(schedule, step);
  return kind == ActionKind::fuse || kind == ActionKind::ring;
}
/// True if the step runs strip by strip, together with others.
inline bool is_swept(const ProgramSchedule& schedule, std::size_t step) {
  return kind_of(schedule, step) == ActionKind::sweep;
}

/// What the arrays of a sweep have in one strip, all together: this much stays in the L2 cache of any current core, and
/// a call of a kernel takes far longer than its start.
inline constexpr Index kStripBytes = Index{256} << 10;

/// How freely a program may be scheduled.
struct ScheduleOptions {
  /// Collectives run while the ranks compute, on axes where moving data leaves the cores free.
  bool overlap = true;
  /// Regions (a region is a layer of a pass). A gather of a parameter starts up to this many
  /// regions before its reader. A reduction of a gradient ends at most this many regions after its
  /// own. A larger distance hides more and holds more memory.
  int distance = 1;
  /// All_reduces of at most this many bytes each, over the same axes, travel as one. 0: each alone.
  Index bundle_bytes = Index{64} << 10;
  /// Which collectives are fused with the products or the attention that they feed: none, those with a
  /// better price, or all possible.
  enum class Fuse : std::uint8_t { never, priced, always } fuse = Fuse::priced;
  /// Without Fuse::never: rings are chosen also where their price is higher, as they need less memory.
  bool rings_for_memory = false;
  /// Elementwise steps that follow each other run strip by strip, in strips of about so many bytes. 0: one after the
  /// other. It changes no bit.
  Index strip_bytes = kStripBytes;
  /// Work between two polls of a product beside collectives. None: as much as takes a fixed time by the prices.
  std::optional<Flops> panel = {};
};

/// The work between two polls under these options and prices.
inline Flops panel_of(const ScheduleOptions& options, const roofline::Hardware& prices) {
  return options.panel.value_or(roofline::panel_work(prices));
}

/// Every step begins and ends at its place.
ProgramSchedule in_order(const RankProgram& program);

/// Starts gathers of parameters early. Ends reductions where a step first reads their results.
/// Starts to receive from another stage one region early, and waits for a send when two later ones to the same stage
/// start.
/// Bundles small all_reduces. Fuses collectives with matrix products, and joins elementwise steps to sweeps. `options`
/// and the prices of `hardware` decide. They must be equal on all ranks and in every run, because fusions decide the
/// order of sums. `fusions` are those of the program from which this one was made; without them choose_fusions()
/// decides.
ProgramSchedule schedule(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options,
                         const std::optional<Fusions>& fusions = {});

}  // namespace shardline
