#pragma once

#include <vector>

#include "program/plan/schedule.h"
#include "program/price/estimate.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// When a step is at work. A computation: while the rank computes. A collective: from when its link takes it up. Of
/// several collectives that travel as one, the first stands for all.
struct ScheduledSpan {
  int step = -1;
  Seconds begin;
  Seconds end;
};

/// What one run of a program takes when every step takes its price.
struct ScheduledTime {
  Seconds total;
  Seconds moving;   ///< all collectives, one after the other
  Seconds exposed;  ///< the rank waits for them, or moves data with its own core and can do nothing else
  std::vector<ScheduledSpan> spans = {};  ///< in the order in which a rank begins them, links later
};

/// Walks a schedule by these rules.
/// - A rank computes one thing at a time. A link carries one collective at a time, in the order of their starts.
/// - Where moving data needs the cores, the rank does nothing else while a collective runs.
/// - Where moving data takes a share of a core, computation beside it slows down by that share.
/// - A product beside collectives in flight is cut into panels if the collectives must be polled.
/// - A collective matmul takes the longer of its two parts, plus one panel of the shorter part. Where moving needs the
///   cores, it takes the sum of both. Its product is cut into panels too.
/// - All_reduces that travel as one take as long as the longest of them.
/// `estimates` are those of the steps on `hardware`.
ScheduledTime scheduled_time(const RankProgram& program, const ProgramSchedule& schedule,
                             const std::vector<StepEstimate>& estimates, const roofline::Hardware& hardware);

}  // namespace shardline
