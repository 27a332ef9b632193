// The program whose steps a calibration times.
#include "program/run/program_samples.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "program/transform/samples.h"
#include "roofline/price/hardware.h"
#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

/// Every kernel that a machine file has a rate for, and matrix products, have steps in the program.
TEST(ProgramSamples, TheProgramRunsEveryKernel) {
  const mpi::Communicator world = mpi::Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::set<std::string> expected{std::string(roofline::kMatrixProduct)};
    for (const SampledKernel& sampled : sampled_kernels(dtype)) expected.emplace(sampled.kernel->name);
    const roofline::ProgramSample sample = program_samples().program(engine, dtype);
    for (int run = 0; run < 2; ++run) {
      const roofline::StepTimes times = sample.run();
      std::set<std::string> names;
      Seconds steps;
      for (const auto& [name, time] : times.kernels) {
        names.insert(name);
        steps += time;
      }
      EXPECT_EQ(names, expected);
      EXPECT_GT(steps, Seconds(0));
      EXPECT_GE(times.between, Seconds(0));
    }
  }
}

}  // namespace
}  // namespace shardline
