#include "program/plan/timeline.h"

#include <algorithm>
#include <map>
#include <string>

#include "program/plan/flight_rules.h"
#include "program/plan/panel_times.h"
#include "roofline/price/panel_cost.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

class Timeline {
 public:
  Timeline(const RankProgram& program, const std::vector<StepEstimate>& estimates, const roofline::Hardware& hardware)
      : program_(program), estimates_(estimates), hardware_(hardware), done_(program.steps.size()) {
    result_.taken.resize(program.steps.size());
  }

  ScheduledTime walk(const ProgramSchedule& schedule) {
    for (const Action& action : schedule.actions) {
      const Seconds begin = now_;
      const auto number = static_cast<int>(&action - schedule.actions.data());
      switch (action.kind) {
        case ActionKind::run:
          run(action.steps[0], schedule);
          break;
        case ActionKind::start:
          start(action.steps);
          break;
        case ActionKind::wait:
          wait_until(done_[static_cast<std::size_t>(action.steps[0])]);
          break;
        case ActionKind::fuse:
          fuse(schedule.fusions.at(number), schedule.panel);
          break;
        case ActionKind::ring:
          go_round(action, schedule.rings.at(number));
          break;
        case ActionKind::sweep:
          for (const int each : action.steps) {
            const Seconds before = now_;
            run(each, schedule);
            taken(each) += now_ - before;
          }
          continue;
      }
      if (action.kind != ActionKind::fuse && action.kind != ActionKind::ring) taken(action.steps[0]) += now_ - begin;
    }
    result_.total = now_;
    return result_;
  }

 private:
  const Step& step(int number) const { return program_.steps[static_cast<std::size_t>(number)]; }
  Seconds& taken(int number) { return result_.taken[static_cast<std::size_t>(number)]; }
  Seconds price(int number) const { return estimates_[static_cast<std::size_t>(number)].price.time; }
  bool is_product(int number) const {
    return step(number).kind == StepKind::compute &&
           program_.phase_of(step(number)).kernel->form == KernelForm::product;
  }
  bool moves(int number) const { return communicates(step(number).kind) || changes_stage(step(number).kind); }

  void run(int number, const ProgramSchedule& schedule) {
    if (!moves(number)) {
      const Seconds begin = now_;
      const Flops work = estimates_[static_cast<std::size_t>(number)].flops;
      const bool cut = schedule.cuts && is_product(number) && work > schedule.panel;
      now_ += cut ? roofline::in_panels(price(number), hardware_) : price(number);
      result_.spans.push_back({number, begin, now_});
      return;
    }
    wait_until(carry(number, price(number), false));
  }

  /// Several steps that travel as one take as long as the longest of them. They are small, so
  /// almost all of their time is latency, and they have it once.
  void start(const std::vector<int>& steps) {
    Seconds longest;
    for (const int number : steps) longest = std::max(longest, price(number));
    const Seconds end = carry(steps[0], longest, true);
    for (const int number : steps) done_[static_cast<std::size_t>(number)] = end;
  }

  /// Puts a collective on its links and returns when it ends. If something is computed `beside` it,
  /// moving takes its share of the core.
  Seconds carry(int number, Seconds time, bool beside) {
    result_.moving += time;
    if (!frees_cores(step(number).axes, hardware_)) {
      result_.spans.push_back({number, now_, now_ + time});
      now_ += time;
      result_.exposed += time;
      return now_;
    }
    Seconds begin = now_;
    double taken = 0;
    for (const Axis& axis : step(number).axes) {
      begin = std::max(begin, free_[resource(axis)]);
      taken = std::max(taken, hardware_.link(axis).core_share);
    }
    for (const Axis& axis : step(number).axes) free_[resource(axis)] = begin + time;
    result_.spans.push_back({number, begin, begin + time});
    if (beside) now_ += taken * time;
    return begin + time;
  }

  void fuse(const FusionGroup& group, Flops panel) {
    const int collective = group.front().collective;
    const PanelTimes times = panel_times(program_, group, estimates_, hardware_, panel);
    Seconds before = now_;
    const Seconds end = carry(collective, times.moving, true);
    taken(collective) += now_ - before;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const int number = group[i].computation;
      result_.spans.push_back({number, now_, now_ + times.products[i]});
      now_ += times.products[i];
      taken(number) += times.products[i];
    }
    before = now_;
    wait_until(end);
    taken(collective) += now_ - before;
    if (!frees_cores(step(collective).axes, hardware_)) return;
    now_ += times.tail;
    taken(group.back().computation) += times.tail;
  }

  /// What is not computing is at the first collective that no earlier ring has left out; without one, at the
  /// computation.
  void go_round(const Action& action, const RingFusion& ring) {
    const Seconds work = price(ring.computation);
    const Seconds moving = ring_moves(program_, ring, estimates_);
    const Seconds begin = now_;
    const Seconds end = carry(ring.gathers.front(), moving, true);
    result_.spans.push_back({ring.computation, now_, now_ + work});
    now_ += work;
    wait_until(end);
    const Seconds tail = std::max(Seconds(), begin + ring_time(work, moving, ring, program_, hardware_) - now_);
    now_ += tail;
    const auto own = std::find_if(action.steps.begin(), action.steps.end(), [&](int s) { return moves(s); });
    taken(ring.computation) += work + tail;
    taken(own == action.steps.end() ? ring.computation : *own) += now_ - begin - work - tail;
  }

  void wait_until(Seconds end) {
    if (end <= now_) return;
    result_.exposed += end - now_;
    now_ = end;
  }

  std::string resource(const Axis& axis) const {
    const roofline::Link& link = hardware_.links.at(axis);
    return link.resource.empty() ? "axis " + axis : link.resource;
  }

  const RankProgram& program_;
  const std::vector<StepEstimate>& estimates_;
  const roofline::Hardware& hardware_;
  std::vector<Seconds> done_;            ///< by step
  std::map<std::string, Seconds> free_;  ///< by resource: when it is free again
  Seconds now_;
  ScheduledTime result_;
};

}  // namespace

ScheduledTime scheduled_time(const RankProgram& program, const ProgramSchedule& schedule,
                             const std::vector<StepEstimate>& estimates, const roofline::Hardware& hardware) {
  SHARDLINE_CHECK(estimates.size() == program.steps.size(), "{} estimates for {} steps", estimates.size(),
                  program.steps.size());
  return Timeline(program, estimates, hardware).walk(schedule);
}

}  // namespace shardline
