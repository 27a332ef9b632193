#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/run/measure.h"
#include "roofline/price/hardware.h"
#include "tools/job.h"

namespace shardline::tools {

/// A run and its prediction.
struct Comparison {
  std::vector<KindSummary> kinds;               ///< over all timed runs, worst first
  int runs = 1;                                 ///< how many
  Index ranks = 1;                              ///< that run the same program: of a stage, if there are stages
  int stages = 1;                               ///< of a pipeline; `kinds` sum over them
  Seconds measured;                             ///< one run: the median
  Seconds predicted;                            ///< one run, as scheduled
  std::vector<std::string> warnings = {};       ///< differences between this run and the run that measured the machine
  std::optional<OtherWork::Node> busiest = {};  ///< the node with the most other work during the measurement
};

/// One paragraph: other work, if it explains a slow run; what binds the run by its prediction; what
/// is farthest from its prediction, and the likely reason; what would make the run faster.
std::string diagnosis(const Comparison& comparison, const roofline::Hardware& hardware);

/// Lines on rates above the measured limits; empty if there are none. Such a rate means that the
/// rate or the limit is wrong.
std::string impossible_rates(const Comparison& comparison, const roofline::Hardware& hardware);

/// The `comparison` of a record: the ratio of the whole, the worst operation, the diagnosis,
/// impossible rates.
Json comparison_json(const Comparison& comparison, const roofline::Hardware& hardware);

}  // namespace shardline::tools
