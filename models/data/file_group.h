#pragma once

#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline {

/// Files that are mixed with others as one.
struct FileGroup {
  std::vector<std::string> files;
  Index weight = 1;  ///< its share is that of the sum of all weights
};

/// The weights of the groups. Throws UsageError if there is no group.
std::vector<Index> weights_of(const std::vector<FileGroup>& groups);

/// "a.bin" of "folder/a.bin".
std::string name_of_file(const std::string& path);

/// "a.bin, b.bin"; of many files "a.bin ... z.bin (26 files)".
std::string shown_names(const std::vector<std::string>& names);

}  // namespace shardline
