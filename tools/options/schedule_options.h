#pragma once

#include <string>

#include "program/plan/schedule.h"

namespace shardline::tools {

/// What people say about the schedule of a program.
struct ScheduleFlags {
  std::string overlap = "on";  ///< on, off
  int prefetch = 1;
  std::string fuse = "auto";  ///< auto, on, off
};

/// Throws UsageError naming the value and the legal ones.
ScheduleOptions schedule_options(const ScheduleFlags& flags);

/// A line for where overlap cannot win: true when no collective over `mesh` leaves the cores free.
bool moving_needs_the_cores(const AbstractMesh& mesh, const roofline::Hardware& hardware);

}  // namespace shardline::tools
