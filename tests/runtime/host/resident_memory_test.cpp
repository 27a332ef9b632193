#include "runtime/host/resident_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace shardline {
namespace {

TEST(ResidentMemory, CountsOwnAndSharedPagesButNotThoseOfFiles) {
  const std::string status =
      "Name:\tshardline\nVmRSS:\t    1011 kB\nRssAnon:\t     700 kB\nRssFile:\t    300 kB\nRssShmem:\t      11 kB\n";
  EXPECT_EQ(resident_memory(status).value, 711 * 1024.0);
  EXPECT_EQ(resident_memory("Name:\tshardline\n").value, 0);
}

TEST(ResidentMemory, GrowsWithWhatTheProcessTouches) {
  const double before = resident_memory().value;
  constexpr std::size_t kSize = 64 << 20;
  const std::vector<char> touched(kSize, 1);
  EXPECT_NEAR(resident_memory().value - before, static_cast<double>(kSize), 4 << 20);
  EXPECT_EQ(touched.back(), 1);
}

}  // namespace
}  // namespace shardline
