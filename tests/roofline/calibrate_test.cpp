// A calibration on real ranks: every rank gets the same machine, all figures are possible, and its file is
// complete.

#include "roofline/measure/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "roofline/machine/figures.h"
#include "roofline/machine/machine_file.h"
#include "roofline/measure/tuning_probe.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {
namespace {

using collectives::Tuning;

Mesh world() {
  const mpi::Communicator comm = mpi::Communicator::world();
  return {AbstractMesh({{"X", comm.size()}}), comm};
}

/// A kernel that computes, and one that only moves data and so has no rate.
std::vector<KernelSample> two_kernels(DType) {
  static volatile double sink = 0;
  return {{"works", {Flops(2), Bytes(8)}, [] { sink = sink * 0.5 + 1; }}, {"moves", {Flops(0), Bytes(8)}, [] {}}};
}

/// Steps of two kernels and of a product.
ProgramSample one_step(collectives::Engine&, DType) {
  return {
      .run =
          [] {
            return StepTimes{
                .kernels = {{"works", Seconds(3)}, {"moves", Seconds(1)}, {std::string(kMatrixProduct), Seconds(2)}},
                .between = Seconds(0.5)};
          },
      .product = 8};
}

CalibrationOptions quick(int rounds) {
  return {.samples = {.kernels = two_kernels, .program = one_step},
          .dtypes = {DType::f32},
          .gemm_sizes = {8, 32},
          .rounds = rounds,
          .budget = Seconds(1e-5)};
}

TEST(Calibrate, AllRanksComeToOneMachineWithAFile) {
  const Mesh mesh = world();
  collectives::Engine engine(mesh);
  Machine machine = calibrate(engine, quick(2));
  machine.measured = {};  // place and time come from the caller
  const std::string hash = machine_hash(machine);
  EXPECT_EQ(mesh.comm().broadcast(hash, 0), hash);
  const nlohmann::json file = nlohmann::json::parse(machine_text(machine));
  for_each_figure(machine, [&](const std::string& path, double& figure) {
    EXPECT_TRUE(std::isfinite(figure) && figure >= 0) << path << " is " << figure;
    if (path.starts_with("/contention") && mesh.ranks() == 1) return;  // the file leaves out a contention of 1
    const nlohmann::json::json_pointer place(path);
    ASSERT_TRUE(file.contains(place)) << path;
    EXPECT_EQ(file.at(place).get<double>(), figure) << path;
  });
  EXPECT_EQ(machine.axes.size(), mesh.ranks() > 1 ? 1U : 0U);
  EXPECT_NO_THROW(static_cast<void>(hardware_of(machine, mesh.axes(), DType::f32)));
}

TEST(Calibrate, ProductsAreByTheLibraryOfTheFile) {
  using kernels::GemmLibrary;
  const Mesh mesh = world();
  collectives::Engine engine(mesh);
  CalibrationOptions options = quick(1);
  options.dtypes = {DType::f32, DType::bf16};
  const Machine machine = calibrate(engine, options);
  for (const DType dtype : options.dtypes) {
    const std::optional<GemmLibrary> library = machine.compute.at(dtype).library;
    ASSERT_TRUE(library.has_value());
    EXPECT_EQ(mesh.comm().broadcast(std::string(kernels::name_of(*library)), 0), kernels::name_of(*library));
    EXPECT_EQ(kernels::gemm_library(dtype), *library);
  }
}

TEST(Calibrate, AShortCalibrationChoosesNoLibrary) {
  using kernels::GemmLibrary;
  const Mesh mesh = world();
  collectives::Engine engine(mesh);
  for (const GemmLibrary library : {GemmLibrary::onednn, GemmLibrary::openblas}) {
    kernels::set_gemm_library(DType::f32, library);
    static_cast<void>(measure_briefly(engine, DType::f32, quick(1).samples));
    EXPECT_EQ(kernels::gemm_library(DType::f32), library);
  }
  kernels::set_gemm_library(DType::f32, kernels::suitable_library(DType::f32));
}

TEST(Calibrate, LatenciesFollowFromTheStepsOfAProgram) {
  const Mesh mesh = world();
  collectives::Engine engine(mesh);
  // 2 x 8 x 8 x 8 FLOPs at this rate take a quarter of a second.
  const GemmRates rates({8}, {FlopsPerSecond(4096)});
  const auto latencies = probe_latencies(mesh.comm(), Seconds(1e-5), one_step(engine, DType::f32), Seconds(2), rates);
  EXPECT_EQ(latencies,
            (std::map<std::string, Seconds>{
                {"works", Seconds(1.5)}, {"moves", Seconds(0)}, {std::string(kMatrixProduct), Seconds(0.25)}}));
}

TEST(Calibrate, OneRoundIsNotReliable) {
  const Mesh mesh = world();
  collectives::Engine engine(mesh);
  Machine machine = calibrate(engine, quick(1));
  std::size_t figures = 0;
  for_each_figure(machine, [&](const std::string&, double&) { ++figures; });
  EXPECT_EQ(machine.measured.unreliable.size(), figures);
}

/// Within a node only the size of one pass is measured. The rules do not change.
TEST(Calibrate, TuningOfANode) {
  const Mesh mesh = world();
  const Tuning tuning = probe_tuning(mesh, Seconds(1e-5));
  const Tuning built_in = Tuning::built_in();
  EXPECT_EQ(tuning.rules, built_in.rules);
  const bool two = mesh.ranks() == 2;
  const Index untouched = two ? tuning.one_pass_bytes_of_more : tuning.one_pass_bytes_of_two;
  EXPECT_EQ(untouched, two ? built_in.one_pass_bytes_of_more : built_in.one_pass_bytes_of_two);
  const Index limit = two ? tuning.one_pass_bytes_of_two : tuning.one_pass_bytes_of_more;
  EXPECT_GE(limit, Index{8} << 10);
  EXPECT_LE(limit, (Index{4} << 20) + 1);
}

}  // namespace
}  // namespace shardline::roofline
