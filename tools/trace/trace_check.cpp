#include "tools/trace/trace_check.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace shardline::tools {
namespace {

/// Reads one event after another, so a large file need not stay in memory.
class Reader {
 public:
  void read(const Json& event) {
    const std::string phase = event.at("ph");
    if (phase == "M" && event.at("name") == "process_name") ++count_.processes;
    if (phase == "M") return;
    const Ticks at = ticks(event.at("ts"));
    earliest_ = std::min(earliest_, at);
    if (phase == "X") {
      ++count_.slices;
      lanes_[{event.at("pid"), event.at("tid")}].emplace_back(at, at + ticks(event.at("dur")));
    } else if (phase == "s" || phase == "f") {
      auto& [tails, heads] = arrows_[event.at("id")];
      ++(phase == "s" ? tails : heads);
      count_.arrows += phase == "f" ? 1 : 0;
    }
  }

  std::string fault(const TraceCount& expected) {
    const auto differs = [](const char* what, Index found, Index wanted) {
      return found == wanted ? "" : fmt::format("it has {} {}, {} were written", found, what, wanted);
    };
    for (const std::string& fault :
         {differs("processes", count_.processes, expected.processes), differs("slices", count_.slices, expected.slices),
          differs("arrows", count_.arrows, expected.arrows), lane_fault()}) {
      if (!fault.empty()) return fault;
    }
    if (count_.slices > 0 && earliest_ != 0) return fmt::format("its first event is at {} us", microseconds(earliest_));
    for (const auto& [id, ends] : arrows_) {
      if (ends.first != 1 || ends.second != 1) {
        return fmt::format("arrow {} has {} tails and {} heads", id, ends.first, ends.second);
      }
    }
    return "";
  }

 private:
  static double microseconds(Ticks ticks) { return static_cast<double>(ticks) * (1e6 / kTicksPerSecond); }
  static Ticks ticks(double microseconds) { return std::llround(microseconds * (kTicksPerSecond / 1e6)); }

  std::string lane_fault() {
    for (auto& [place, slices] : lanes_) {
      std::sort(slices.begin(), slices.end());
      for (std::size_t i = 1; i < slices.size(); ++i) {
        if (slices[i].first >= slices[i - 1].second) continue;
        return fmt::format("two slices of lane {} of process {} overlap at {} us", place.second, place.first,
                           microseconds(slices[i].first));
      }
    }
    return "";
  }

  TraceCount count_;
  Ticks earliest_ = std::numeric_limits<Ticks>::max();
  std::map<std::pair<Index, Index>, std::vector<std::pair<Ticks, Ticks>>> lanes_;  ///< by process and lane
  std::map<std::string, std::pair<Index, Index>> arrows_;                          ///< tails and heads
};

}  // namespace

std::string fault_of_trace(const std::string& path, const TraceCount& expected) {
  Reader reader;
  constexpr int kEventDepth = 2;
  // Each event is checked at its end, and not kept.
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth != kEventDepth || event != Json::parse_event_t::object_end || !parsed.contains("ph")) return true;
    reader.read(parsed);
    return false;
  };
  try {
    std::ifstream file(path, std::ios::binary);
    const Json rest = Json::parse(file, look);
    return rest.at("traceEvents").is_array() ? reader.fault(expected) : "traceEvents is no array";
  } catch (const Json::exception& error) {
    return error.what();
  }
}

}  // namespace shardline::tools
