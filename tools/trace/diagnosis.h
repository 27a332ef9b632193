#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/run/measure.h"
#include "roofline/price/hardware.h"
#include "tools/job.h"

namespace shardline::tools {

/// A run beside its prediction.
struct Comparison {
  std::vector<KindSummary> kinds;  ///< over all runs that were timed, worst first
  int runs = 1;                    ///< how many
  Index ranks = 1;
  Seconds measured;                        ///< one run: the median
  Seconds predicted;                       ///< one run, as scheduled
  std::vector<std::string> warnings = {};  ///< in what this run differs from that in which the machine was measured
  std::optional<OtherWork::Node> busiest = {};  ///< with other work, while it was measured
};

/// One paragraph: other work where that explains why it takes longer than predicted, what binds the run by its
/// prediction, what is farthest from its prediction and why that may be, what would make the run faster.
std::string diagnosis(const Comparison& comparison, const roofline::Hardware& hardware);

/// Lines on rates above what was measured to be possible, empty when there are none: an error in one of the two.
std::string impossible_rates(const Comparison& comparison, const roofline::Hardware& hardware);

/// The `comparison` of a record: ratio of the whole, the worst operation, diagnosis, impossible rates.
Json comparison_json(const Comparison& comparison, const roofline::Hardware& hardware);

}  // namespace shardline::tools
