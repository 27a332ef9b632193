#include "program/run/program_samples.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/price/estimate.h"
#include "program/run/execute.h"
#include "program/transform/samples.h"
#include "roofline/price/hardware.h"
#include "runtime/trace/clock.h"

namespace shardline {
namespace {

std::vector<roofline::KernelSample> kernel_samples(DType dtype) {
  std::vector<roofline::KernelSample> samples;
  for (const SampledKernel& sampled : sampled_kernels(dtype)) {
    samples.push_back({std::string(sampled.kernel->name), sampled.run->cost(sampled.operation, sampled.phase),
                       [sampled] { sampled.run->run(sampled.operation, sampled.phase); }});
  }
  return samples;
}

/// The name of each step's kernel in machine files.
std::vector<std::string> kernel_names(const RankProgram& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) {
    names.emplace_back(multiplies_matrices(program, step) ? roofline::kMatrixProduct
                                                          : program.phase_of(step).kernel->name);
  }
  return names;
}

/// Runs the program once.
roofline::StepTimes times_of(Executor& executor, const std::vector<std::string>& names) {
  const Seconds begin = now();
  executor.run();
  Seconds between = now() - begin;
  roofline::StepTimes times;
  std::map<std::string, double> counts;
  for (const Span& span : executor.trace().spans()) {
    const std::string& name = names[static_cast<std::size_t>(span.label)];
    const Seconds time = span.end - span.begin;
    times.kernels[name] = times.kernels[name] + time;
    counts[name] += 1;
    between = between - time;
  }
  executor.forget_times();
  for (auto& [name, time] : times.kernels) time = time / counts.at(name);
  times.between = between / static_cast<double>(names.size());
  return times;
}

/// The program has many copies of each kernel, so that its steps do not fit in the inner caches. Those of a model with
/// many layers do not fit either, and a step then takes longer.
roofline::ProgramSample program_sample(collectives::Engine& engine, DType dtype) {
  constexpr int kTimes = 40;
  constexpr Index kProduct = 4;
  SampleProgram sample = sample_program(kTimes, kProduct, dtype);
  Declaration declaration;
  for (ArrayId array = 0; array < static_cast<ArrayId>(sample.program.arrays.size()); ++array) {
    declaration.layouts[array] = Sharding::replicated(sample.program.array(array).dims.size());
  }
  RankProgram program = partition(std::move(sample.program), engine.mesh().axes(), declaration);
  check(program);
  std::vector<std::string> names = kernel_names(program);
  const auto executor = std::make_shared<Executor>(compile(std::move(program), {}), engine);
  for (const auto& [input, value] : sample.inputs) executor->set(input, value);
  return {.run = [executor, names = std::move(names)] { return times_of(*executor, names); }, .product = kProduct};
}

}  // namespace

roofline::ProgramSamples program_samples() { return {.kernels = kernel_samples, .program = program_sample}; }

}  // namespace shardline
