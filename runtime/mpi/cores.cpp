#include "runtime/mpi/cores.h"

#include <sched.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "runtime/base/check.h"

namespace shardline::mpi {
namespace {

/// One bit per core that this process may run on.
using CoreMask = std::array<unsigned long, 256>;

std::string core_mask() {
  CoreMask mask{};
  const int failed = sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data()));
  SHARDLINE_CHECK(failed == 0, "sched_getaffinity cannot tell the cores of this process");
  return {reinterpret_cast<const char*>(mask.data()), sizeof mask};
}

}  // namespace

std::vector<int> cpus_of(const Communicator& node) {
  CoreMask together{};
  for (const std::string& bytes : node.all_gather_bytes(core_mask())) {
    CoreMask mask;
    std::memcpy(mask.data(), bytes.data(), sizeof mask);
    for (std::size_t i = 0; i < mask.size(); ++i) together.at(i) |= mask.at(i);
  }
  constexpr int kBits = std::numeric_limits<unsigned long>::digits;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < static_cast<int>(together.size()) * kBits; ++cpu) {
    if ((together.at(static_cast<std::size_t>(cpu / kBits)) >> (cpu % kBits) & 1) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

int cores_of(const Communicator& node) { return static_cast<int>(cpus_of(node).size()); }

}  // namespace shardline::mpi
