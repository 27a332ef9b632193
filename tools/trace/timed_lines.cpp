#include "tools/trace/timed_lines.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardline::tools {
namespace {

/// Characters of an operation. A longer one moves its own columns to the right, and no others.
constexpr std::size_t kMostAligned = 80;

Seconds mean_exposed(const Measured& measured) { return measured.exposed * (1.0 / std::max(measured.count, 1)); }

}  // namespace

double ratio(const TimedStep& step) { return step.measured.median / step.label.predicted; }

std::vector<std::string> timed_lines(const std::vector<TimedStep>& steps) {
  std::size_t width = 9;
  for (const TimedStep& step : steps) width = std::max(width, std::min(step.label.name.size(), kMostAligned));
  std::vector<std::string> lines = {fmt::format("{:<{}} {:>9} {:>12} {:>10} {:>10} {:>10} {:>6}  {}", "operation",
                                                width, "wire", "FLOPs", "measured", "exposed", "predicted", "ratio",
                                                "limiter")};
  for (const TimedStep& step : steps) {
    const auto& [label, measured] = step;
    lines.push_back(fmt::format("{:<{}} {:>9} {:>12} {:>10} {:>10} {:>10} {:>6.2f}  {}{}", label.name, width,
                                to_string(label.wire_bytes), to_string(label.flops), to_string(measured.median),
                                to_string(mean_exposed(measured)), to_string(label.predicted), ratio(step),
                                label.limiter,
                                label.fused   ? ", fused"
                                : label.swept ? ", swept"
                                              : ""));
  }
  return lines;
}

Json operation_json(const TimedStep& step) {
  const auto& [label, measured] = step;
  return {{"text", label.name},
          {"kind", label.kind},
          {"axis", to_string(label.axes)},
          {"bytes", label.bytes.value},
          {"wire_bytes", label.wire_bytes.value},
          {"flops", label.flops.value},
          {"predicted_s", label.predicted.value},
          {"measured_s", measured.median.value},
          {"exposed_s", mean_exposed(measured).value},
          {"t_math_s", label.math.value},
          {"t_memory_s", label.memory.value},
          {"t_comms_s", label.comms.value},
          {"limiter", label.limiter},
          {"fused", label.fused},
          {"swept", label.swept}};
}

}  // namespace shardline::tools
