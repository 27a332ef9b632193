#pragma once

#include <optional>
#include <string>

#include "runtime/trace/other_work.h"

namespace shardline::tools {

/// From this share of the cores' time on, other work counts as keeping the machine busy.
inline constexpr double kBusy = 0.05;

/// A sentence: other work kept the machine busy during the measurement. Empty below kBusy, or if
/// nobody can tell.
std::string busy_text(const std::optional<OtherWork::Node>& busiest);

/// The same as a line, or empty.
std::string busy_line(const std::optional<OtherWork::Node>& busiest);

/// A clause: other work is the reason for `ratio` times the prediction. Empty if it is not: the
/// machine was not busy, or the time was about as predicted.
std::string busy_cause(const std::optional<OtherWork::Node>& busiest, double ratio);

}  // namespace shardline::tools
