#include "models/data/file_group.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "runtime/base/check.h"

namespace shardline {

std::vector<Index> weights_of(const std::vector<FileGroup>& groups) {
  require(!groups.empty(), "no data file given");
  std::vector<Index> weights;
  for (const FileGroup& group : groups) weights.push_back(group.weight);
  return weights;
}

std::string name_of_file(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 4;
  if (names.size() <= kMostNames) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} ... {} ({} files)", names.front(), names.back(), names.size());
}

}  // namespace shardline
