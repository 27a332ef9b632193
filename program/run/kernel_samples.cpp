#include "program/run/kernel_samples.h"

#include <string>

#include "program/transform/samples.h"

namespace shardline {

std::vector<roofline::KernelSample> kernel_samples(DType dtype) {
  std::vector<roofline::KernelSample> samples;
  for (const SampledKernel& sampled : sampled_kernels(dtype)) {
    samples.push_back({std::string(sampled.kernel->name), sampled.run->cost(sampled.operation, sampled.phase),
                       [sampled] { sampled.run->run(sampled.operation, sampled.phase); }});
  }
  return samples;
}

}  // namespace shardline
