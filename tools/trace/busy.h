#pragma once

#include <optional>
#include <string>

#include "runtime/trace/other_work.h"

namespace shardline::tools {

/// From this share of the cores' time on, other work is said to have kept the machine busy.
inline constexpr double kBusy = 0.05;

/// That other work kept the machine busy while it measured: a sentence, empty below kBusy and where nobody can tell.
std::string busy_text(const std::optional<OtherWork::Node>& busiest);

/// The same as a line, or nothing.
std::string busy_line(const std::optional<OtherWork::Node>& busiest);

/// A clause: that other work is why something took `ratio` times its prediction. Empty when that does not explain it:
/// the machine was not busy, or it took about as long as predicted.
std::string busy_cause(const std::optional<OtherWork::Node>& busiest, double ratio);

}  // namespace shardline::tools
