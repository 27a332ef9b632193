#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

// The rules of a trace file. This code reads only the file (and the record of the run), and shares nothing with
// the code that writes it.
namespace shardline::trace_oracle {

using Json = nlohmann::json;

struct Expected {
  int ranks = 1;
  bool part = false;       ///< of one rank that did not reach the end
  bool arrows = false;     ///< the file must have arrows
  bool both_ways = false;  ///< arrows in both directions on the ring of the only axis
  std::string record{};    ///< the file of --json of the same run; empty for none
  int steps_measured = 0;  ///< of the record: the last steps
  /// By stage of a pipeline: the tasks of a training step in the order of the timetable, "F0 F1 B0 B1". None: no
  /// stages.
  std::vector<std::string> tasks{};
};

/// The faults of the trace in file `path`, one line each.
std::vector<std::string> faults(const std::string& path, const Expected& expected);

}  // namespace shardline::trace_oracle
