#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "kernels/gemm/gemm.h"

/// Measures kernels with one BLAS thread, unless OPENBLAS_NUM_THREADS says otherwise.
int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const char* threads = std::getenv("OPENBLAS_NUM_THREADS");
  shardline::kernels::set_blas_threads(threads == nullptr ? 1 : std::atoi(threads));
  benchmark::AddCustomContext("blas", shardline::kernels::blas_description());
  benchmark::AddCustomContext("blas_threads", std::to_string(shardline::kernels::blas_threads()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
