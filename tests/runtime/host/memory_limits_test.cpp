#include "runtime/host/memory_limits.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shardline {
namespace {

namespace fs = std::filesystem;

/// A made-up machine: files in a folder that the destructor removes.
class FakeRoot {
 public:
  FakeRoot() : root_(fs::temp_directory_path() / fs::path("shardline_root_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\nCached:  300 kB\n");
  }
  ~FakeRoot() { fs::remove_all(root_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  /// A group of cgroup v1 with `inactive` and `active` bytes of page cache.
  void first(const std::string& group, const std::string& limit, int usage, int inactive, int active) const {
    const std::string folder = "sys/fs/cgroup/memory" + group;
    write(folder + "/memory.limit_in_bytes", limit + "\n");
    write(folder + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
    write(folder + "/memory.stat", "cache 1\ntotal_inactive_file " + std::to_string(inactive) + "\ntotal_active_file " +
                                       std::to_string(active) + "\n");
  }

  /// A group of cgroup v2.
  void second(const std::string& group, const std::string& max, const std::string& high, int current) const {
    const std::string folder = "sys/fs/cgroup" + group;
    write(folder + "/memory.max", max + "\n");
    write(folder + "/memory.high", high + "\n");
    write(folder + "/memory.current", std::to_string(current) + "\n");
    write(folder + "/memory.stat", "anon 5\ninactive_file 10\nactive_file 5\n");
  }

  std::vector<MemoryBound> bounds() const { return memory_bounds(root_.string()); }

 private:
  fs::path root_;
};

constexpr const char* kFirstMount =
    "30 22 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "31 30 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "34 30 0:31 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory\n";
constexpr const char* kSecondMount = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

const MemoryBound* find(const std::vector<MemoryBound>& bounds, const std::string& name) {
  const auto found =
      std::find_if(bounds.begin(), bounds.end(), [&](const MemoryBound& each) { return each.name == name; });
  return found == bounds.end() ? nullptr : &*found;
}

void expect_bound(const std::vector<MemoryBound>& bounds, const std::string& name, double limit, double left) {
  const MemoryBound* bound = find(bounds, name);
  ASSERT_NE(bound, nullptr) << name;
  EXPECT_EQ(bound->limit.value, limit) << name;
  EXPECT_EQ(bound->left.value, left) << name;
}

TEST(MemoryLimits, WithoutGroupsTheMachineBoundsAlone) {
  const FakeRoot fake;
  const std::vector<MemoryBound> bounds = fake.bounds();
  ASSERT_EQ(bounds.size(), 1U);
  expect_bound(bounds, "free memory", 1000 * 1024, 600 * 1024);
  EXPECT_FALSE(bounds[0].own);
}

TEST(MemoryLimits, AnOldKernelDoesNotSayWhatIsAvailable) {
  const FakeRoot fake;
  fake.write("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  100 kB\nCached:  300 kB\n");
  expect_bound(fake.bounds(), "free memory", 1000 * 1024, 400 * 1024);
}

TEST(MemoryLimits, ASystemThatTellsNothingBoundsNothing) { EXPECT_TRUE(memory_bounds("/nowhere/at/all").empty()); }

TEST(MemoryLimits, FirstVersionWithLimitsAboveTheOwnGroup) {
  const FakeRoot fake;
  fake.write("proc/self/mountinfo", kFirstMount);
  fake.write("proc/self/cgroup", "5:cpu:/\n4:memory:/slurm/job_7/step_0\n0::/\n");
  fake.first("", "9223372036854771712", 900000, 0, 0);
  fake.first("/slurm", "9223372036854771712", 800000, 0, 0);
  fake.first("/slurm/job_7", "500000", 300000, 40000, 10000);
  fake.first("/slurm/job_7/step_0", "9223372036854771712", 200000, 0, 0);
  const std::vector<MemoryBound> bounds = fake.bounds();
  expect_bound(bounds, "cgroup /slurm/job_7 (memory.limit_in_bytes)", 500000, 250000);
  const MemoryBound* own = find(bounds, "cgroup /slurm/job_7/step_0 (memory.limit_in_bytes)");
  ASSERT_NE(own, nullptr);
  EXPECT_GT(own->left.value, 9e18);
  EXPECT_NE(own->id, find(bounds, "cgroup /slurm/job_7 (memory.limit_in_bytes)")->id);
}

TEST(MemoryLimits, FirstVersionInAContainerThatSeesItsOwnGroupAlone) {
  const FakeRoot fake;
  fake.write("proc/self/mountinfo",
             "34 30 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,cpuacct,memory\n");
  fake.write("proc/self/cgroup", "4:cpuacct,memory:/docker/abc\n");
  fake.first("", "400000", 100000, 0, 0);
  fake.write("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 0\nhierarchical_memory_limit 300000\n");
  const std::vector<MemoryBound> bounds = fake.bounds();
  expect_bound(bounds, "cgroup / (memory.limit_in_bytes)", 400000, 300000);
  expect_bound(bounds, "cgroup / (hierarchical_memory_limit)", 300000, 200000);
}

TEST(MemoryLimits, SecondVersionWithMaxAndHigh) {
  const FakeRoot fake;
  fake.write("proc/self/mountinfo", kSecondMount);
  fake.write("proc/self/cgroup", "0::/user.slice/run.scope\n");
  fake.second("/user.slice", "600000", "max", 100000);
  fake.second("/user.slice/run.scope", "max", "200000", 50000);
  const std::vector<MemoryBound> bounds = fake.bounds();
  ASSERT_EQ(bounds.size(), 3U);  // "max" is no limit, and the root has no files
  expect_bound(bounds, "cgroup /user.slice (memory.max)", 600000, 500015);
  expect_bound(bounds, "cgroup /user.slice/run.scope (memory.high)", 200000, 150015);
}

TEST(MemoryLimits, HybridMountsHaveMemoryInTheFirst) {
  const FakeRoot fake;
  fake.write("proc/self/mountinfo",
             std::string(kFirstMount) + "40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  fake.write("proc/self/cgroup", "4:memory:/job\n1:name=systemd:/elsewhere\n0::/init.scope\n");
  fake.first("/job", "500000", 100000, 0, 0);
  fake.write("sys/fs/cgroup/unified/init.scope/cgroup.procs", "1\n");
  const std::vector<MemoryBound> bounds = fake.bounds();
  ASSERT_EQ(bounds.size(), 2U);
  expect_bound(bounds, "cgroup /job (memory.limit_in_bytes)", 500000, 400000);
}

TEST(MemoryLimits, AGroupOutsideOfTheNamespaceLeavesThoseThatCanBeSeen) {
  const FakeRoot fake;
  fake.write("proc/self/mountinfo", kSecondMount);
  fake.write("proc/self/cgroup", "0::/../other/job\n");
  fake.second("", "700000", "max", 100000);
  fake.second("/../other/job", "1", "max", 1);
  const std::vector<MemoryBound> bounds = fake.bounds();
  ASSERT_EQ(bounds.size(), 2U);
  expect_bound(bounds, "cgroup / (memory.max)", 700000, 600015);
}

TEST(MemoryLimits, AMountWhoseNameStartsLikeTheGroupsIsNotAboveIt) {
  const FakeRoot fake;
  fake.write("proc/self/mountinfo", "29 23 0:26 /job /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  fake.write("proc/self/cgroup", "0::/job_2/step\n");
  fake.second("", "700000", "max", 100000);
  fake.second("/_2/step", "1", "max", 0);
  EXPECT_EQ(find(fake.bounds(), "cgroup /_2/step (memory.max)"), nullptr);
}

TEST(MemoryLimits, AGroupOverItsLimitHasNothingLeft) {
  const FakeRoot fake;
  fake.write("proc/self/mountinfo", kSecondMount);
  fake.write("proc/self/cgroup", "0::/job\n");
  fake.second("/job", "1000", "max", 5000);
  expect_bound(fake.bounds(), "cgroup /job (memory.max)", 1000, 0);
}

TEST(MemoryLimits, ResourceLimitsAreOfTheProcessAlone) {
  const FakeRoot fake;
  fake.write("proc/self/limits",
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max data size             unlimited            unlimited            bytes     \n"
             "Max address space         2048000              4096000              bytes     \n");
  fake.write("proc/self/status", "Name:\tshardline\nVmPeak:\t 900 kB\nVmSize:\t 1000 kB\nVmData:\t 500 kB\n");
  std::vector<MemoryBound> bounds = fake.bounds();
  ASSERT_EQ(bounds.size(), 2U);
  expect_bound(bounds, "ulimit -v", 2048000, 1024000);
  EXPECT_TRUE(bounds[1].own);
  fake.write("proc/self/limits", "Max data size             1024000            unlimited            bytes     \n");
  bounds = fake.bounds();
  expect_bound(bounds, "ulimit -d", 1024000, 512000);
}

TEST(MemoryLimits, ThisMachineHasMemory) {
  const std::vector<MemoryBound> bounds = memory_bounds();
  ASSERT_FALSE(bounds.empty());
  for (const MemoryBound& bound : bounds) {
    EXPECT_GT(bound.limit.value, 0) << bound.name;
    EXPECT_LE(bound.left, bound.limit) << bound.name;
  }
}

}  // namespace
}  // namespace shardline
