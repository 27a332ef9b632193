#include "tests/tools/trace/trace_events.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardline::trace_oracle {

TraceEvents::TraceEvents(const Json& file) : trace(file) {
  for (const Json& event : file.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const int pid = event.at("pid");
    if (phase == "M") {
      const std::string name = event.at("name");
      if (name == "process_name") processes[pid].push_back(event.at("args").at("name"));
      if (name == "thread_name") lane_names[{pid, event.at("tid")}].push_back(event.at("args").at("name"));
    } else if (phase == "X") {
      const double begin = event.at("ts");
      lanes[{pid, event.at("tid")}].push_back({begin, begin + event.at("dur").get<double>(), &event});
    } else if (phase == "s" || phase == "f") {
      (phase == "s" ? tails : heads)[event.at("id")].push_back(&event);
    } else if (phase == "C") {
      memory[pid].push_back(&event);
    } else {
      faults.push_back(fmt::format("an event of phase {}", phase));
    }
  }
  for (auto& [key, slices] : lanes) {
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
  }
}

const Slice* TraceEvents::slice_at(const Json& event) const {
  const double at = event.at("ts");
  const auto lane = lanes.find({event.at("pid"), event.at("tid")});
  if (lane == lanes.end()) return nullptr;
  for (const Slice& slice : lane->second) {
    if (slice.begin <= at && at < slice.end) return &slice;
  }
  return nullptr;
}

double TraceEvents::uncertainty(int pid) const {
  return 1e6 * trace.at("otherData").at("clock_uncertainty_s").at(static_cast<std::size_t>(pid - 1)).get<double>();
}

}  // namespace shardline::trace_oracle
