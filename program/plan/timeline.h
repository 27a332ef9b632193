#pragma once

#include <vector>

#include "program/plan/schedule.h"
#include "program/price/estimate.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// When a step is at work: a computation, or a collective from when its link takes it up; of several that travel as
/// one, the first stands for all.
struct ScheduledSpan {
  int step = -1;
  Seconds begin;
  Seconds end;
};

/// What one run of a program takes when every step takes its price.
struct ScheduledTime {
  Seconds total;
  Seconds moving;   ///< all collectives, one after the other
  Seconds exposed;  ///< that the rank waits for them, or does nothing else because moving needs its core
  std::vector<ScheduledSpan> spans = {};  ///< in the order in which a rank begins them, links later
};

/// Walks a schedule: a rank computes one thing at a time, a link carries one collective at a time in the order in which
/// they were started, where moving needs the cores the rank does nothing else meanwhile, and where it takes a share of
/// one what is computed beside it takes so much longer. A product beside collectives in flight is cut into panels where
/// these must be polled. A collective matmul takes the longer of its two parts, the product likewise cut, and one panel
/// of the shorter;
/// where moving needs the cores it takes both. All_reduces that travel as one take as long as the longest of them.
/// `estimates` are those of the steps on `hardware`.
ScheduledTime scheduled_time(const RankProgram& program, const ProgramSchedule& schedule,
                             const std::vector<StepEstimate>& estimates, const roofline::Hardware& hardware);

}  // namespace shardline
