#pragma once

#include <cblas.h>

namespace shardline::kernels {

/// The functions of the BLAS that we call.
struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&openblas_set_num_threads) set_num_threads = nullptr;
  decltype(&openblas_get_num_threads) get_num_threads = nullptr;
  decltype(&openblas_get_config) get_config = nullptr;
  decltype(&openblas_get_corename) get_corename = nullptr;
};

/// The BLAS, loaded by the first call, with one thread. A BLAS that is linked starts its threads before main(), and
/// waits for ever where the limits of the process do not allow them. Throws Error that says why it cannot be loaded.
const Blas& blas();

/// The BLAS, ready for products: with the first call it takes the memory of one thread. Throws Error like
/// start_blas_threads().
const Blas& blas_for_products();

/// Lets the BLAS compute with so many threads, at least 1. Throws Error where the limits of the process do not allow
/// the threads or their memory.
void start_blas_threads(int threads);

}  // namespace shardline::kernels
