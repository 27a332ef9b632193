#include "runtime/host/large_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "runtime/layout/tensor.h"

namespace shardline {
namespace {

/// Whether the system says that it was asked for large pages at this address: the flag `hg` of its mapping.
bool is_advised(const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool inside = false;
  while (std::getline(maps, line)) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= address && address < end;
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

bool has_large_pages() { return std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"); }

TEST(LargePages, AreAskedForWhereMemoryOfItsOwnLies) {
  if (!has_large_pages()) GTEST_SKIP() << "this system has no large pages";
  constexpr std::size_t kBytes = 8 << 20;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<char*>(memory);
  EXPECT_FALSE(is_advised(bytes));
  bytes[0] = 1;
  prefer_large_pages(bytes, kBytes);
  EXPECT_TRUE(is_advised(bytes));
  EXPECT_TRUE(is_advised(bytes + kBytes - 1));
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(munmap(memory, kBytes), 0);
}

TEST(LargePages, HoldLargeTensors) {
  if (!has_large_pages()) GTEST_SKIP() << "this system has no large pages";
  const Tensor tensor(DType::f32, {3 << 20});
  EXPECT_TRUE(is_advised(tensor.data()));
  EXPECT_TRUE(is_advised(tensor.data() + tensor.bytes() - 1));
}

}  // namespace
}  // namespace shardline
