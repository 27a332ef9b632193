#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

// What must hold of a trace file, judged from the file alone (and the record of the run) by code that shares nothing
// with what writes it.
namespace shardline::trace_oracle {

using Json = nlohmann::json;

struct Expected {
  int ranks = 1;
  bool part = false;       ///< of one rank that did not come to the end
  bool arrows = false;     ///< there must be some
  bool both_ways = false;  ///< on the ring of the only axis
  std::string record{};    ///< the file of --json of the same run; empty for none
  int steps_measured = 0;  ///< of the record: those from the end on
};

/// What is wrong with the trace in file `path`, a line each.
std::vector<std::string> faults(const std::string& path, const Expected& expected);

}  // namespace shardline::trace_oracle
