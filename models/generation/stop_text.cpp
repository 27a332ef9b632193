#include "models/generation/stop_text.h"

#include <algorithm>
#include <utility>

#include "models/tokens/utf8.h"
#include "runtime/base/check.h"

namespace shardline {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    require(!stop.empty(), "a stop string is empty; it must have at least one byte");
}

std::string StopText::add(std::string_view bytes) {
  if (stopped_by_) return "";
  const std::size_t old = held_.size();
  held_ += bytes;
  for (std::size_t end = old + 1; end <= held_.size(); ++end) {
    stopped_by_ = stop_that_ends_at(end);
    if (!stopped_by_) continue;
    held_.resize(end - stops_[*stopped_by_].size());
    return std::exchange(held_, {});
  }
  const std::string_view free = std::string_view(held_).substr(0, start_of_stop());
  std::string shown(free.substr(0, without_part_of_character(free)));
  held_.erase(0, shown.size());
  return shown;
}

std::string StopText::end() { return std::exchange(held_, {}); }

/// The longest stop string that ends before byte `end` of the bytes that wait.
std::optional<std::size_t> StopText::stop_that_ends_at(std::size_t end) const {
  std::optional<std::size_t> longest;
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    if (!std::string_view(held_).substr(0, end).ends_with(stops_[i])) continue;
    if (!longest || stops_[i].size() > stops_[*longest].size()) longest = i;
  }
  return longest;
}

/// The first of the bytes that wait from which on they may be the start of a stop string; their number if none may.
std::size_t StopText::start_of_stop() const {
  for (std::size_t start = 0; start < held_.size(); ++start) {
    const std::string_view rest = std::string_view(held_).substr(start);
    if (std::any_of(stops_.begin(), stops_.end(), [&](const std::string& stop) { return stop.starts_with(rest); })) {
      return start;
    }
  }
  return held_.size();
}

}  // namespace shardline
