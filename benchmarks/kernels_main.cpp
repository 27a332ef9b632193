#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "kernels/gemm.h"

/// Kernels are measured on one BLAS thread unless OPENBLAS_NUM_THREADS says otherwise.
int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (std::getenv("OPENBLAS_NUM_THREADS") == nullptr) shardline::kernels::set_blas_threads(1);
  benchmark::AddCustomContext("blas", shardline::kernels::blas_description());
  benchmark::AddCustomContext("blas_threads", std::to_string(shardline::kernels::blas_threads()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
