#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/price/price.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// A program of a rank with what its steps take. All vectors are by number of the step.
struct PricedSteps {
  const RankProgram& program;
  const std::vector<StepEstimate>& estimates;
  const std::vector<Seconds>& taken;  ///< ScheduledTime::taken
  const roofline::Hardware& hardware;
  Axes context = {};  ///< those whose roles share sequences
};

/// What some steps of a rank take. Works add up, and scale with the number of layers or of micro-batches.
struct PlannedWork {
  Seconds upper = {};    ///< one step after the other
  Seconds taken = {};    ///< by the schedule
  Seconds exposed = {};  ///< the part of `taken` that waits for collectives
  Seconds math = {};
  Seconds cores = {};
  Seconds attention = {};
  Seconds context = {};  ///< one collective after the other: what moves between ranks with parts of a sequence
  Flops flops = {};
  Flops repeated = {};  ///< of these, by rematerialisation
  std::map<std::string, Seconds> links = {};
  std::map<roofline::Limiter, Seconds> computing = {};  ///< by the limiter of each step
  std::map<roofline::Limiter, Seconds> moving = {};

  /// Calls change(part of this, part of other) for every part.
  template <class Change>
  void with(const PlannedWork& other, const Change& change) {
    change(upper, other.upper), change(taken, other.taken), change(exposed, other.exposed);
    change(math, other.math), change(cores, other.cores), change(attention, other.attention);
    change(context, other.context);
    change(flops, other.flops), change(repeated, other.repeated);
    for (auto& [link, time] : other.links) change(links[link], time);
    for (auto& [limiter, time] : other.computing) change(computing[limiter], time);
    for (auto& [limiter, time] : other.moving) change(moving[limiter], time);
  }

  void add(const PlannedWork& other, double times = 1) {
    with(other, [&](auto& a, const auto& b) { a = a + b * times; });
  }

  Seconds busiest_link() const;
  /// The time of the busiest resource. No schedule is faster, unless all_reduces travel as one.
  Seconds busiest() const { return std::max(cores, busiest_link()); }
  /// What binds most of the longer of math and busiest_link().
  roofline::Limiter limiter() const;
};

/// True if the step is attention itself, or its gradient.
bool is_attention(const RankProgram& program, const Step& step);

/// The work of the steps with these numbers.
PlannedWork work_of(const PricedSteps& priced, const std::vector<int>& steps);

/// What has the largest share.
roofline::Limiter largest_share(const std::map<roofline::Limiter, Seconds>& shares);

}  // namespace shardline
