#pragma once

#include <optional>
#include <string>

#include "program/timetable/timetable.h"
#include "program/timetable/timing.h"
#include "runtime/base/units.h"

namespace shardline {

struct PictureOptions {
  std::string axis = "Z";  ///< the name of the pipeline's mesh axis
  /// The time of a column, more than 0. None: the shortest task, where a line then has at most 160 characters. If not,
  /// tasks are drawn as bare letters, a character each column; and where that is too wide too, a column takes longer.
  std::optional<Seconds> unit = {};
};

/// A timetable as text: "Z=0  F0 F1 ...", a line for each stage, from left to right a column for each unit of time.
/// Begins and ends are rounded to columns. The last line says what the letters mean. `timing` is that of the timetable.
/// Throws UsageError for a unit of 0 or less.
std::string picture(const Timetable& timetable, const Timing& timing, const PictureOptions& options = {});

}  // namespace shardline
