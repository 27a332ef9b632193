// Kernels are priced by rates that a calibration finds by name: the names must be those of programs.

#include <gtest/gtest.h>

#include <set>

#include "program/ir/program.h"
#include "roofline/measure/kernel_probe.h"
#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

TEST(KernelNames, CalibrationKnowsEveryKernelThatComputes) {
  const auto rates = roofline::probe_kernels<float>(mpi::Communicator::world(), Seconds(1e-6));
  std::set<std::string> measured;
  for (const auto& [name, rate] : rates) measured.insert(name);
  std::set<std::string> computing;
  for (int kernel = 0; kernel <= static_cast<int>(Kernel::adamw); ++kernel) {
    computing.emplace(name_of(static_cast<Kernel>(kernel)));
  }
  computing.erase("embed");  // these two only move data
  computing.erase("pick");
  EXPECT_EQ(measured, computing);
}

}  // namespace
}  // namespace shardline
