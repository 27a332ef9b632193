#include "tools/bench/caches.h"

#include <fmt/format.h>

#include <fstream>

namespace shardline::tools {

Bytes last_level_cache(const std::string& folder) {
  constexpr double kMebi = 1024.0 * 1024.0;
  Bytes size(64 * kMebi);
  int highest = 0;
  for (int index = 0;; ++index) {
    std::ifstream level_file(fmt::format("{}/index{}/level", folder, index));
    std::ifstream size_file(fmt::format("{}/index{}/size", folder, index));
    int level = 0;
    double number = 0;
    if (!(level_file >> level)) return size;
    if (!(size_file >> number) || number <= 0 || level <= highest) continue;
    char unit = 'B';
    size_file >> unit;
    highest = level;
    size = Bytes(number * (unit == 'K' ? 1024 : unit == 'M' ? kMebi : 1));
  }
}

}  // namespace shardline::tools
