#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

// What a trace file holds, sorted by kind. This code reads only the file.
namespace shardline::trace_oracle {

using Json = nlohmann::json;

/// Times are written as multiples of 1/64 us, so they may be off by this.
inline constexpr double kGrain = 1.0 / 64;

struct Slice {
  double begin = 0;
  double end = 0;
  const Json* event = nullptr;

  const Json& argument(const char* key) const { return event->at("args").at(key); }
};

/// Process and lane.
using LaneKey = std::pair<int, int>;

struct TraceEvents {
  /// `file` must outlive it.
  explicit TraceEvents(const Json& file);

  /// The slice around an end of an arrow, or null.
  const Slice* slice_at(const Json& event) const;
  /// Of the clock of a process, in us.
  double uncertainty(int pid) const;

  const Json& trace;
  std::map<int, std::vector<std::string>> processes{};  ///< names
  std::map<LaneKey, std::vector<std::string>> lane_names{};
  std::map<LaneKey, std::vector<Slice>> lanes{};            ///< in the order of time
  std::map<std::string, std::vector<const Json*>> tails{};  ///< of arrows
  std::map<std::string, std::vector<const Json*>> heads{};
  std::map<int, std::vector<const Json*>> memory{};
  std::vector<std::string> faults{};  ///< events of no known kind
};

}  // namespace shardline::trace_oracle
