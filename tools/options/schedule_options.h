#pragma once

#include <string>

#include "program/plan/schedule.h"

namespace shardline::tools {

/// The flags that control the schedule of a program.
struct ScheduleFlags {
  std::string overlap = "on";  ///< on, off
  int prefetch = 1;
  std::string fuse = "auto";  ///< auto, on, off
};

/// Throws UsageError with the value and the legal ones.
ScheduleOptions schedule_options(const ScheduleFlags& flags);

/// True if no collective over `mesh` leaves the cores free. Then overlap cannot win.
bool moving_needs_the_cores(const AbstractMesh& mesh, const roofline::Hardware& hardware);

}  // namespace shardline::tools
