#include "models/data/token_windows.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {

void TokenWindows::add(std::shared_ptr<const TokenFile> file, Range windows) {
  if (windows.size() > 0) parts_.push_back({std::move(file), windows.begin, size() + windows.size()});
}

TokenWindows::Place TokenWindows::at(Index i) const {
  SHARDLINE_CHECK(i >= 0 && i < size(), "window {} of {}", i, size());
  const auto part =
      std::upper_bound(parts_.begin(), parts_.end(), i, [](Index at, const Part& each) { return at < each.end; });
  const Index begin = part == parts_.begin() ? 0 : std::prev(part)->end;
  return {part->file.get(), (part->first + i - begin) * sequence_};
}

}  // namespace shardline
