#pragma once

#include <string>
#include <vector>

#include "runtime/base/units.h"

namespace shardline::tools {

/// A task of a stage in a figure.
struct TimetableBox {
  char kind = 'F';          ///< the letter of the kind of task
  std::string micro_batch;  ///< drawn in the box, if it is wide enough
  std::string name;         ///< "F0"
  Seconds begin;
  Seconds end;
};

/// What one stage did: in the upper row as measured, in the lower row as predicted.
struct StageRows {
  std::vector<TimetableBox> measured;
  std::vector<TimetableBox> predicted;
};

/// The stages one below the other, over time from the begin of the step. A colour for each kind of task.
std::string timetable_svg(const std::vector<StageRows>& stages);

}  // namespace shardline::tools
