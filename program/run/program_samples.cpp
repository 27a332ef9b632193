#include "program/run/program_samples.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "program/ops/einsum.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "program/price/estimate.h"
#include "program/run/execute.h"
#include "program/run/memory_samples.h"
#include "program/transform/samples.h"
#include "roofline/price/hardware.h"
#include "runtime/trace/clock.h"

namespace shardline {
namespace {

/// A product of few rows with a matrix that the caches hold, see kThinProduct.
roofline::KernelSample thin_sample(DType dtype, bool turned) {
  constexpr Index kRows = 8, kInner = 512, kColumns = 1024;
  struct Arrays {
    Tensor a, b, c;
  };
  const auto made = [&](Index rows, Index columns) {
    Tensor values(DType::f64, {rows, columns});
    const View<double> view = values.view<double>();
    for (Index i = 0; i < view.size(); ++i) view[i] = static_cast<double>(i % 7);
    return values.as(dtype);
  };
  const auto arrays = std::make_shared<Arrays>(made(kRows, kInner), made(kInner, kColumns), made(kRows, kColumns));
  if (turned) arrays->b = arrays->b.reshaped({kColumns, kInner});
  const kernels::GemmShape shape{.m = kRows, .n = kColumns, .k = kInner};
  return {std::string(turned ? roofline::kTurnedThinProduct : roofline::kThinProduct),
          kernels::gemm_cost(shape, size_of(dtype)), [arrays, turned] {
            const Subscripts b = turned ? Subscripts{1, 2} : Subscripts{2, 1};
            run_einsum({{&arrays->a, &arrays->b}, {{0, 2}, b}, &arrays->c, {0, 1}});
          }};
}

std::vector<roofline::KernelSample> kernel_samples(DType dtype) {
  std::vector<roofline::KernelSample> samples;
  for (const SampledKernel& sampled : sampled_kernels(dtype)) {
    samples.push_back({std::string(sampled.kernel->name), sampled.run->cost(sampled.operation, sampled.phase),
                       [sampled] { sampled.run->run(sampled.operation, sampled.phase); }});
  }
  if (dtype == DType::f64) return samples;
  for (const bool turned : {false, true}) samples.push_back(thin_sample(dtype, turned));
  for (roofline::KernelSample& sample : samples_from_memory(dtype)) samples.push_back(std::move(sample));
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
