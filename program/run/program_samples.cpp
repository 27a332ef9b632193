#include "program/run/program_samples.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program/ops/add.h"
#include "program/partition/partition.h"
#include "program/run/execute.h"
#include "program/transform/samples.h"

namespace shardline {
namespace {

std::vector<roofline::KernelSample> samples_of(DType dtype, SampleSize size) {
  std::vector<roofline::KernelSample> samples;
  for (const SampledKernel& sampled : sampled_kernels(dtype, size)) {
    samples.push_back({std::string(sampled.kernel->name), sampled.run->cost(sampled.operation, sampled.phase),
                       [sampled] { sampled.run->run(sampled.operation, sampled.phase); }});
  }
  return samples;
}

std::vector<roofline::KernelSample> kernel_samples(DType dtype) { return samples_of(dtype, SampleSize::large); }

std::vector<roofline::KernelSample> small_samples(DType dtype) { return samples_of(dtype, SampleSize::small); }

roofline::OverheadSample overhead_sample(collectives::Engine& engine) {
  constexpr int kSteps = 4096;  // beyond the inner caches, as the program of a model of many layers
  constexpr Index kElements = 16;
  Program program;
  program.sizes = {{"I", kElements}};
  const ArrayId x = program.add_input("x", {"I"}, Role::activation);
  ArrayId sum = x;
  for (int i = 0; i < kSteps; ++i) sum = add(program, "y" + std::to_string(i), {sum, x});
  program.outputs = {sum};
  const Sharding whole = Sharding::replicated(1);
  RankProgram steps =
      partition(program, engine.mesh().axes(), {.layouts = {{x, whole}, {sum, whole}}, .work = {}, .policy = {}});
  const auto executor = std::make_shared<Executor>(compile(std::move(steps), {}), engine);
  executor->set(x, Tensor::zeros(DType::f32, {kElements}));
  return {.steps = kSteps, .run = [executor] {
            executor->run();
            executor->forget_times();
          }};
}

}  // namespace

roofline::ProgramSamples program_samples() {
  return {.kernels = kernel_samples, .small_kernels = small_samples, .overhead = overhead_sample};
}

}  // namespace shardline
