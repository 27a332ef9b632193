#pragma once

#include <cblas.h>

namespace shardline::kernels {

/// The BLAS functions that we call.
struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&openblas_set_num_threads) set_num_threads = nullptr;
  decltype(&openblas_get_num_threads) get_num_threads = nullptr;
  decltype(&openblas_get_config) get_config = nullptr;
  decltype(&openblas_get_corename) get_corename = nullptr;
};

/// The BLAS with one thread; the first call loads it. A linked BLAS starts its threads before
/// main(), and waits for ever if the limits of the process forbid them. Throws Error with the
/// reason if it cannot load.
const Blas& blas();

/// The BLAS, ready for products. The first call allocates the memory of one thread. Throws Error
/// like start_blas_threads().
const Blas& blas_for_products();

/// Lets the BLAS use this many threads, at least 1. Throws Error if the limits of the process
/// forbid the threads or their memory.
void start_blas_threads(int threads);

}  // namespace shardline::kernels
