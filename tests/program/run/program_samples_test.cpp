// The program whose steps a calibration times.
#include "program/run/program_samples.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kernels/attention/cache_attention.h"
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

/// What prices by rows look for is measured, and counts the FLOPs that such a price divides by.
TEST(ProgramSamples, KernelsReadFromMemory) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    std::map<std::string, roofline::KernelSample> samples;
    for (const roofline::KernelSample& sample : program_samples().kernels(dtype)) samples.emplace(sample.name, sample);
    for (const Index rows : roofline::kRowsFromMemory) {
      const kernels::Cost attention = kernels::cache_attention_cost({1, 1, 8, rows, 64}, {1, 1024, 8, 64}, 1, 4);
      for (const std::string kernel : {"thin_product", "turned_thin_product", "cache_attention"}) {
        const auto found = samples.find(kernel + "_" + std::to_string(rows));
        ASSERT_EQ(found != samples.end(), dtype != DType::f64) << kernel << " " << rows;
        if (dtype == DType::f64) continue;
        EXPECT_EQ(found->second.cost.rows, rows);
        const double flops =
            kernel == "cache_attention" ? attention.flops.value : 2.0 * 512 * 1024 * static_cast<double>(rows);
        EXPECT_DOUBLE_EQ(found->second.cost.flops.value, flops) << kernel << " " << rows;
        found->second.run();
      }
    }
  }
}

}  // namespace
}  // namespace shardline
