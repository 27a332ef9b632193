#include "tools/trace/busy.h"

#include <fmt/format.h>

#include "tools/output/text.h"

namespace shardline::tools {
namespace {

bool is_busy(const std::optional<OtherWork::Node>& busiest) { return busiest && busiest->share >= kBusy; }

/// "0.48 of its 2 cores' time"
std::string share_text(const OtherWork::Node& node) {
  return node.cores == 1 ? fmt::format("{:.2f} of its core's time", node.share)
                         : fmt::format("{:.2f} of its {} cores' time", node.share, node.cores);
}

std::string name_of(const OtherWork::Node& node) {
  return node.nodes == 1 ? "the machine" : fmt::format("the node of rank {}", node.rank);
}

}  // namespace

std::string busy_text(const std::optional<OtherWork::Node>& busiest) {
  if (!is_busy(busiest)) return "";
  return sentence(fmt::format(
      "{} was busy with other work: {} went to others while this was measured; times may be longer than they would be "
      "alone",
      name_of(*busiest), share_text(*busiest)));
}

std::string busy_line(const std::optional<OtherWork::Node>& busiest) {
  const std::string text = busy_text(busiest);
  return text.empty() ? text : text + "\n";
}

std::string busy_cause(const std::optional<OtherWork::Node>& busiest, double ratio) {
  constexpr double kAsPredicted = 1.1;
  if (!is_busy(busiest) || ratio < kAsPredicted) return "";
  return fmt::format("{} was busy with other work, which took {}: what was measured takes longer than it would alone",
                     name_of(*busiest), share_text(*busiest));
}

}  // namespace shardline::tools
