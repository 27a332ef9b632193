#pragma once

#include <string>
#include <vector>

#include "tools/job.h"
#include "tools/report/operation_row.h"

namespace shardline::tools {

/// The operations in the given order in columns, one line each below a line of titles: bytes on the wire, FLOPs, the
/// median of its measured times, what a rank waited, the prediction, ratio and limiter.
std::vector<std::string> timed_lines(const std::vector<TimedStep>& steps);

/// measured / predicted
double ratio(const TimedStep& step);

/// An operation of a record: {text, kind, axis, bytes, wire_bytes, flops, predicted_s, measured_s, exposed_s, t_math_s,
/// t_memory_s, t_comms_s, limiter, fused, swept}, of one run.
Json operation_json(const TimedStep& step);

}  // namespace shardline::tools
