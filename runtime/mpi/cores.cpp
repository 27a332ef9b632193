#include "runtime/mpi/cores.h"

#include <sched.h>

#include <array>
#include <bit>
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

int cores_of(const Communicator& node) {
  std::string together(sizeof(CoreMask), '\0');
  for (const std::string& mask : node.all_gather_bytes(core_mask())) {
    for (std::size_t i = 0; i < mask.size(); ++i) together[i] = static_cast<char>(together[i] | mask[i]);
  }
  int cores = 0;
  for (const char byte : together) cores += std::popcount(static_cast<unsigned char>(byte));
  return cores;
}

}  // namespace shardline::mpi
