#pragma once

#include <vector>

#include "program/plan/schedule.h"
#include "program/price/estimate.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// The working time of a step. A computation works while the rank computes. A collective works from
/// the moment when its link takes it. If several collectives travel as one, the first stands for
/// all.
struct ScheduledSpan {
  int step = -1;
  Seconds begin;
  Seconds end;
};

/// The time of one run of a program, if every step takes its price.
struct ScheduledTime {
  Seconds total;
  Seconds moving;   ///< all collectives, one after the other
  Seconds exposed;  ///< waiting for them, or moving data with its own core and unable to compute
  /// By step: how long the rank is at it. It computes, moves data with its own core, or waits for the step to end. The
  /// times add up to `total`. Of steps that travel as one, the first has all of it.
  std::vector<Seconds> taken = {};
  std::vector<ScheduledSpan> spans = {};  ///< in the order in which a rank begins them; a link may begin later
};

/// Walks a schedule by these rules.
/// - A rank computes one thing at a time. A link carries one collective at a time, in the order of their starts.
/// - Where moving data needs the cores, the rank does nothing else while a collective runs.
/// - Where moving data takes a share of a core, computation beside it slows down by that share.
/// - A product beside collectives in flight is cut into panels if the collectives must be polled.
/// - A collective matmul takes the longer of its two parts, plus one panel of the shorter part. Where moving needs the
///   cores, it takes the sum of both. Its product is cut into panels too.
/// - A ring takes ring_time(). Its arrays are on the links as long as they move, one after the other.
/// - A sweep takes the sum of its steps.
/// - All_reduces that travel as one take as long as the longest of them.
/// `estimates` are those of the steps on `hardware`.
ScheduledTime scheduled_time(const RankProgram& program, const ProgramSchedule& schedule,
                             const std::vector<StepEstimate>& estimates, const roofline::Hardware& hardware);

}  // namespace shardline
