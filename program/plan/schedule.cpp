#include "program/plan/schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "program/plan/choose_fusions.h"
#include "program/plan/flight_rules.h"
#include "program/plan/sweeps.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Fills in the begin action and the end action of every step.
ProgramSchedule completed(std::vector<Action> actions, std::size_t steps, Flops panel = {}) {
  ProgramSchedule schedule{.actions = std::move(actions),
                           .begins = std::vector<int>(steps, -1),
                           .ends = std::vector<int>(steps, -1),
                           .panel = panel};
  for (std::size_t i = 0; i < schedule.actions.size(); ++i) {
    const Action& action = schedule.actions[i];
    for (const int step : action.steps) {
      const auto at = static_cast<std::size_t>(step);
      if (action.kind != ActionKind::wait) schedule.begins[at] = static_cast<int>(i);
      if (action.kind != ActionKind::start) schedule.ends[at] = static_cast<int>(i);
    }
  }
  for (std::size_t i = 0; i < steps; ++i) {
    SHARDLINE_CHECK(schedule.begins[i] >= 0 && schedule.ends[i] >= schedule.begins[i], "step {} is not scheduled", i);
  }
  return schedule;
}

class Scheduler {
 public:
  Scheduler(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options,
            const std::optional<Fusions>& fusions)
      : program_(program),
        hardware_(hardware),
        options_(options),
        rules_(program, hardware, options),
        number_(program.steps.size()) {
    number_regions();
    if (fusions) {
      place_fusions(*fusions, true);
    } else {
      place_fusions(choose_fusions(program, hardware, options), false);
    }
  }

  ProgramSchedule build() {
    for (std::size_t i = 0; i < number_.size(); ++i) {
      if (i == 0 || number_[i] != number_[i - 1]) enter_region(number_[i]);
      visit(static_cast<int>(i));
    }
    while (!pending_.empty()) flush(pending_.begin()->second.front());
    while (!in_flight_.empty()) wait_for(in_flight_.front().front());
    if (options_.strip_bytes > 0) actions_ = join_sweeps(program_, actions_, options_.strip_bytes);
    ProgramSchedule schedule = completed(std::move(actions_), number_.size(), panel_of(options_, hardware_));
    schedule.cuts = cuts();
    schedule.strip_bytes = options_.strip_bytes;
    schedule.alone = std::move(alone_);
    for (const auto& [computation, ring] : rings_) {
      schedule.rings[schedule.begins[static_cast<std::size_t>(computation)]] = ring;
    }
    for (const auto& [collective, group] : groups_) {
      schedule.fusions[schedule.begins[static_cast<std::size_t>(collective)]] = group;
    }
    return schedule;
  }

 private:
  /// All_reduces travel as one only if these are equal: axes, operation, element type and wire.
  using BundleKey = std::tuple<Axes, ReduceOp, DType, collectives::Wire>;

  const Step& step(int number) const { return program_.steps[static_cast<std::size_t>(number)]; }
  Index bytes(VersionId v) const { return static_cast<Index>(local_bytes(program_, v, 0).value); }

  void number_regions() {
    int region = 0;
    for (std::size_t i = 0; i < number_.size(); ++i) {
      if (i > 0 && !(program_.steps[i].region == program_.steps[i - 1].region)) ++region;
      number_[i] = region;
    }
    for (int i = 0; i < static_cast<int>(number_.size()); ++i) {
      if (rules_.starts_early(i)) early_.push_back(i);
    }
  }

  // Fusing.

  /// `carried`: they are those of another program, and decide the order of sums.
  void place_fusions(const Fusions& fusions, bool carried) {
    place_rings(fusions.rings);
    for (int i = 0; i < static_cast<int>(number_.size()); ++i) {
      if (step(i).kind != StepKind::compute || group_of_.contains(i)) continue;
      const auto chosen = fusions.products.find(fusion_name(program_, step(i)));
      if (chosen == fusions.products.end()) continue;
      if (!place_group(i, fusions) && carried && chosen->second.gathers) {
        alone_[i] = chosen->second;
        alone_[i].collective = -1;
        alone_[i].computation = i;
      }
    }
  }

  /// A ring adds up in an order of its own, so a computation of this name must be a ring here too.
  void place_rings(const std::map<std::string, Flops>& names) {
    if (names.empty()) return;
    for (const RingGroup& group : possible_rings(program_)) {
      const auto named = std::count_if(group.begin(), group.end(), [&](const RingFusion& ring) {
        return names.contains(fusion_name(program_, step(ring.computation)));
      });
      SHARDLINE_CHECK(named == 0 || named == static_cast<std::ptrdiff_t>(group.size()),
                      "only some readers of a gather were rings, such as {}",
                      fusion_name(program_, step(group.front().computation)));
      if (named > 0) std::for_each(group.begin(), group.end(), [&](const RingFusion& ring) { place(ring, names); });
    }
    for (int i = 0; i < static_cast<int>(number_.size()); ++i) {
      const bool named = step(i).kind == StepKind::compute && names.contains(fusion_name(program_, step(i)));
      SHARDLINE_CHECK(!named || rings_.contains(i), "{} was a ring, and cannot be one here",
                      fusion_name(program_, step(i)));
    }
  }

  void place(const RingFusion& ring, const std::map<std::string, Flops>& panels) {
    rings_.emplace(ring.computation, ring).first->second.panel =
        panels.at(fusion_name(program_, step(ring.computation)));
    for (const int part : ring.gathers) ring_of_.emplace(part, ring.computation);
    for (const int part : ring.scatters) ring_of_.emplace(part, ring.computation);
    ring_of_[ring.computation] = ring.computation;
  }

  /// Places the collective matmul whose first product is step `first`, if all its products were chosen so.
  bool place_group(int first, const Fusions& fusions) {
    for (FusionGroup& group : possible_fusions(program_, rules_, first)) {
      const int collective = group.front().collective;
      if (group_of_.contains(collective)) continue;
      const bool same = std::all_of(group.begin(), group.end(), [&](Fusion& fusion) {
        const auto chosen = fusions.products.find(fusion_name(program_, step(fusion.computation)));
        if (chosen == fusions.products.end() || group_of_.contains(fusion.computation)) return false;
        fusion.work = chosen->second.work;
        fusion.in_coordinate_order = chosen->second.in_coordinate_order;
        return fusion.gathers == chosen->second.gathers && fusion.operand == chosen->second.operand &&
               fusion.axes == chosen->second.axes;
      });
      if (!same) continue;
      group_of_[collective] = collective;
      for (const Fusion& fusion : group) group_of_[fusion.computation] = collective;
      groups_[collective] = std::move(group);
      return true;
    }
    return false;
  }

  // Early starts and bundles.

  /// True if some collective of this mesh may be in flight.
  bool cuts() const {
    const Axes axes = program_.mesh.axes_that_move();
    return options_.overlap &&
           std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return frees_cores({axis}, hardware_); });
  }

  bool bundles(int number) const {
    return step(number).kind == StepKind::all_reduce && bytes(step(number).operands[0]) <= options_.bundle_bytes;
  }

  BundleKey key_of(int number) const {
    const Step& s = step(number);
    const VersionId from = s.operands[0];
    return {s.axes, program_.version(from).sharding.reduce, program_.array_of(from).dtype, s.wire};
  }

  // Emission.

  void enter_region(int region) {
    const std::vector<std::vector<int>> in_flight = in_flight_;
    for (const std::vector<int>& steps : in_flight) {  // memory with gradients must not pile up
      if (changes_stage(step(steps.back()).kind)) continue;
      if (number_[static_cast<std::size_t>(steps.back())] + options_.distance < region) wait_for(steps.back());
    }
    const auto first = std::lower_bound(early_.begin(), early_.end(), region, [&](int i, int wanted) {
      return number_[static_cast<std::size_t>(i)] < wanted;
    });
    for (auto at = first; at != early_.end(); ++at) {
      const int ahead = number_[static_cast<std::size_t>(*at)] - region;
      if (ahead > std::max(options_.distance, 1)) break;
      if (ahead > (moves(*at) ? 1 : options_.distance)) continue;
      if (begun_.contains(*at)) continue;
      for (const VersionId v : step(*at).operands) run_early(v);
      start({*at});
    }
  }

  /// The cast that makes what an early gather reads.
  void run_early(VersionId version) {
    const int cast = rules_.producer(version);
    if (cast >= 0) visit(cast);
  }

  void visit(int number) {
    const Step& s = step(number);
    if (begun_.contains(number)) return;
    if (ring_of_.contains(number)) {
      if (s.kind == StepKind::compute) go_round(rings_.at(number));
      return;
    }
    if (const auto group = group_of_.find(number); group != group_of_.end()) {
      if (s.kind == StepKind::compute) fuse(groups_.at(group->second));
      return;
    }
    for (const VersionId v : s.operands) make_early(v);
    if (s.kind == StepKind::send) make_room(s.peer);
    if (changes_stage(s.kind)) return start({number});
    if (bundles(number)) {
      pending_[key_of(number)].push_back(number);
      begun_.insert(number);
      if (bytes_pending(key_of(number)) > options_.bundle_bytes) flush(number);
    } else if (communicates(s.kind) && rules_.overlaps(number)) {
      start({number});
    } else {
      actions_.push_back({ActionKind::run, {number}, !in_flight_.empty()});
      begun_.insert(number);
    }
  }

  void fuse(const FusionGroup& group) {
    std::vector<int> steps;
    for (const Fusion& fusion : group) steps.push_back(fusion.computation);
    steps.insert(group.front().gathers ? steps.begin() : steps.end(), group.front().collective);
    begun_.insert(steps.begin(), steps.end());
    for (const int part : steps) {
      for (const VersionId v : step(part).operands) make_early(v);
    }
    actions_.push_back({ActionKind::fuse, std::move(steps), true});
  }

  /// Gathers that several rings leave out belong to the first of them.
  void go_round(const RingFusion& ring) {
    std::vector<int> steps;
    for (const int gather : ring.gathers) {
      if (begun_.insert(gather).second) steps.push_back(gather);
      for (const VersionId v : step(gather).operands) make_early(v);
    }
    begun_.insert(ring.computation);
    steps.push_back(ring.computation);
    for (const VersionId v : step(ring.computation).operands) make_early(v);
    begun_.insert(ring.scatters.begin(), ring.scatters.end());
    steps.insert(steps.end(), ring.scatters.begin(), ring.scatters.end());
    actions_.push_back({ActionKind::ring, std::move(steps), true});
  }

  Index bytes_pending(const BundleKey& key) const {
    Index sum = 0;
    for (const int number : pending_.at(key)) sum += bytes(step(number).operands[0]);
    return sum;
  }

  void start(std::vector<int> steps, bool uniform = false) {
    begun_.insert(steps.begin(), steps.end());
    actions_.push_back({.kind = ActionKind::start, .steps = steps, .uniform = uniform});
    in_flight_.push_back(std::move(steps));
  }

  bool moves(int number) const { return changes_stage(step(number).kind); }

  /// At most two arrays are on their way to a stage: then the oldest must have arrived before the next leaves.
  void make_room(int stage) {
    constexpr std::size_t kOnTheWay = 2;
    std::vector<int> sent;
    for (const std::vector<int>& steps : in_flight_) {
      const Step& s = step(steps.front());
      if (s.kind == StepKind::send && s.peer == stage) sent.push_back(steps.front());
    }
    if (sent.size() >= kOnTheWay) wait_for(sent.front());
  }

  /// Starts the pending bundle of `number`.
  void flush(int number) {
    const auto found = pending_.find(key_of(number));
    std::vector<int> steps = std::move(found->second);
    pending_.erase(found);
    const int first = steps.front();
    start(std::move(steps), true);
    if (!rules_.overlaps(first)) wait_for(first);
  }

  /// Makes the version ready, though its producer may come later in the program.
  void make_early(VersionId version) {
    const int producer = rules_.producer(version);
    if (producer < 0) return;
    const auto group = group_of_.find(producer);
    visit(group == group_of_.end() ? producer : groups_.at(group->second).front().computation);
    make_ready(version);
  }

  /// Makes the version ready: starts its producer, if needed, and waits for it.
  void make_ready(VersionId version) {
    const int producer = rules_.producer(version);
    if (producer < 0) return;
    for (const auto& [key, numbers] : pending_) {
      if (std::find(numbers.begin(), numbers.end(), producer) == numbers.end()) continue;
      flush(producer);
      break;
    }
    wait_for(producer);
  }

  /// Does nothing if the step is not in flight.
  void wait_for(int number) {
    const auto found = std::find_if(in_flight_.begin(), in_flight_.end(), [&](const std::vector<int>& steps) {
      return std::find(steps.begin(), steps.end(), number) != steps.end();
    });
    if (found == in_flight_.end()) return;
    actions_.push_back({ActionKind::wait, *found});
    in_flight_.erase(found);
  }

  const RankProgram& program_;
  const roofline::Hardware& hardware_;
  const ScheduleOptions& options_;
  FlightRules rules_;
  std::vector<int> number_;                        ///< by step: number of its region, in program order
  std::vector<int> early_;                         ///< the steps that start early, in program order
  std::map<int, FusionGroup> groups_;              ///< collective matmuls by their collectives
  std::map<int, int> group_of_;                    ///< by step: the collective of its collective matmul
  std::map<int, RingFusion> rings_;                ///< by computation
  std::map<int, int> ring_of_;                     ///< by step: the computation of a ring that it is part of
  std::map<int, Fusion> alone_;                    ///< by computation: its collective is not beside it
  std::set<int> begun_;                            ///< steps run, started, fused or bundled
  std::map<BundleKey, std::vector<int>> pending_;  ///< all_reduces that wait for more to bundle
  std::vector<std::vector<int>> in_flight_;        ///< in the order of their starts
  std::vector<Action> actions_;
};

}  // namespace

ProgramSchedule in_order(const RankProgram& program) {
  std::vector<Action> actions;
  for (std::size_t i = 0; i < program.steps.size(); ++i) actions.push_back({ActionKind::run, {static_cast<int>(i)}});
  return completed(std::move(actions), program.steps.size());
}

ProgramSchedule schedule(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options,
                         const std::optional<Fusions>& fusions) {
  return Scheduler(program, hardware, options, fusions).build();
}

}  // namespace shardline
