#include "roofline/measure/compute_probe.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/einsum/einsum.h"
#include "kernels/gemm/gemm.h"
#include "roofline/measure/kernel_probe.h"
#include "roofline/measure/repeat.h"
#include "roofline/price/panel_cost.h"
#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

/// Matrix products of any extents up to the largest of the grid. All use the same arrays.
template <class T>
class Products {
 public:
  explicit Products(Index largest)
      : a_(static_cast<std::size_t>(largest * largest), T(0.5F)),
        b_(static_cast<std::size_t>(largest * largest), T(0.25F)),
        c_(static_cast<std::size_t>(largest * largest)) {}

  /// As in programs, with the other work of an einsum around the product.
  void run(Index m, Index n, Index k) { run_rows({0, m}, m, n, k, nullptr); }

  /// The same in panels of so many rows.
  void run_panels(Index panel, Index m, Index n, Index k) {
    kernels::KeptOperands kept;
    for (Index begin = 0; begin < m; begin += panel) run_rows({begin, std::min(begin + panel, m)}, m, n, k, &kept);
  }

 private:
  void run_rows(Range rows, Index m, Index n, Index k, kernels::KeptOperands* kept) {
    const std::array<kernels::EinsumOperand<T>, 2> operands{
        {{{a_.data(), {m, k}}, {0, 1}}, {{b_.data(), {k, n}}, {1, 2}}}};
    kernels::einsum<T, T>(operands, {c_.data(), {m, n}}, {0, 2}, kernels::Window{0, rows}, kept);
  }

  std::vector<T> a_, b_, c_;
};

Flops flops_of(Index m, Index n, Index k) {
  return Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

/// Collective over `comm`.
template <class Multiplier>
GemmRates probe_products(const mpi::Communicator& comm, const ProbeEffort& effort) {
  Multiplier multiplier(effort.gemm_sizes.back());
  std::vector<FlopsPerSecond> rates;
  for (const Index m : effort.gemm_sizes) {
    for (const Index n : effort.gemm_sizes) {
      for (const Index k : effort.gemm_sizes) {
        constexpr double kLong = 5e8;  // a product of more FLOPs needs no run before its measurement
        const Repetition repetition{.budget = effort.budget, .warm = flops_of(m, n, k).value < kLong};
        const Seconds time = time_busy(comm, repetition, [&] { multiplier.run(m, n, k); });
        rates.push_back(flops_of(m, n, k) / time);
      }
    }
  }
  return {effort.gemm_sizes, std::move(rates)};
}

/// The share of its speed that the largest product of the grid keeps in panels. Collective over `comm`.
template <class Multiplier>
double probe_panels(const mpi::Communicator& comm, const ProbeEffort& effort, const GemmRates& rates) {
  const Index size = effort.gemm_sizes.back();
  Hardware hardware;
  hardware.matmul = rates.best();
  const Index rows = panel_rows(panel_work(hardware), flops_of(size, size, size), size);
  Multiplier multiplier(size);
  const Seconds cut =
      time_busy(comm, {.budget = effort.budget}, [&] { multiplier.run_panels(rows, size, size, size); });
  const Seconds whole = time_busy(comm, {.budget = effort.budget}, [&] { multiplier.run(size, size, size); });
  return std::min(1.0, whole / cut);
}

/// Collective over `comm`.
template <class Multiplier>
void probe_matrix_products(const mpi::Communicator& comm, const ProbeEffort& effort, Compute& compute) {
  compute.gemm = probe_products<Multiplier>(comm, effort);
  compute.peak = compute.gemm.best();
  compute.panels = probe_panels<Multiplier>(comm, effort, compute.gemm);
}

}  // namespace

Compute probe_compute(const mpi::Communicator& comm, DType dtype, const ProbeEffort& effort) {
  Compute compute;
  switch (dtype) {
    case DType::f64:
      probe_matrix_products<Products<double>>(comm, effort, compute);
      break;
    case DType::bf16:
      probe_matrix_products<Products<BFloat16>>(comm, effort, compute);
      break;
    default:
      probe_matrix_products<Products<float>>(comm, effort, compute);
  }
  compute.kernels = probe_kernels(comm, effort.budget, effort.kernels(dtype));
  if (dtype != DType::f64) compute.library = kernels::gemm_library(dtype);
  return compute;
}

namespace {

/// The time of the largest product of the grid by a library. Collective over `comm`.
template <class T>
Seconds time_by(const mpi::Communicator& comm, kernels::GemmLibrary library, const ProbeEffort& effort) {
  kernels::set_gemm_library(kDTypeOf<T>, library);
  const Index size = effort.gemm_sizes.back();
  Products<T> products(size);
  return time_busy(comm, {.budget = effort.budget, .least = 5}, [&] { products.run(size, size, size); });
}

template <class T>
void choose_for(const mpi::Communicator& comm, const ProbeEffort& effort) {
  using enum kernels::GemmLibrary;
  const bool possible = kDTypeOf<T> == DType::f32 || kernels::suitable_library(kDTypeOf<T>) == onednn;
  if (comm.min(possible ? 1 : 0) == 0) return kernels::set_gemm_library(kDTypeOf<T>, openblas);
  const Seconds by_openblas = time_by<T>(comm, openblas, effort);
  kernels::set_gemm_library(kDTypeOf<T>, time_by<T>(comm, onednn, effort) < by_openblas ? onednn : openblas);
}

}  // namespace

void choose_library(const mpi::Communicator& comm, DType dtype, const ProbeEffort& effort) {
  if (dtype == DType::f32) choose_for<float>(comm, effort);
  if (dtype == DType::bf16) choose_for<BFloat16>(comm, effort);
}

double probe_gemm_contention(const mpi::Communicator& comm, const ProbeEffort& effort) {
  const Index size = effort.gemm_sizes.back();
  Products<float> products(size);
  const Repetition repetition{.budget = effort.budget};
  const Seconds busy = time_busy(comm, repetition, [&] { products.run(size, size, size); });
  return time_of_one(comm, repetition, [&] { products.run(size, size, size); }) / busy;
}

}  // namespace shardline::roofline
