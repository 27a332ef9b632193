#include "roofline/measure/compute_probe.h"

#include <array>

#include "kernels/einsum/einsum.h"
#include "roofline/measure/kernel_probe.h"
#include "roofline/measure/repeat.h"
#include "runtime/base/check.h"
#include "runtime/layout/tensor.h"

namespace shardline::roofline {
namespace {

/// Matrix products of any extents up to the largest of the grid. All use the same arrays.
template <class T>
class Products {
 public:
  explicit Products(Index largest)
      : a_(static_cast<std::size_t>(largest * largest), T(0.5)),
        b_(static_cast<std::size_t>(largest * largest), T(0.25)),
        c_(static_cast<std::size_t>(largest * largest)) {}

  /// As in programs, with the other work of an einsum around the product.
  void run(Index m, Index n, Index k) {
    const std::array<kernels::EinsumOperand<T>, 2> operands{
        {{{a_.data(), {m, k}}, {0, 1}}, {{b_.data(), {k, n}}, {1, 2}}}};
    kernels::einsum<T>(operands, {c_.data(), {m, n}}, {0, 2});
  }

 private:
  std::vector<T> a_, b_, c_;
};

/// Widens bf16 operands to f32 and multiplies these.
class WidenedProducts {
 public:
  explicit WidenedProducts(Index largest)
      : narrow_(Tensor::zeros(DType::bf16, {largest * largest})), products_(largest) {}

  void run(Index m, Index n, Index k) {
    narrow_.slice({{0, m * k}}).as(DType::f32);
    narrow_.slice({{0, k * n}}).as(DType::f32);
    products_.run(m, n, k);
  }

 private:
  Tensor narrow_;
  Products<float> products_;
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

}  // namespace

Compute probe_compute(const mpi::Communicator& comm, DType dtype, const ProbeEffort& effort) {
  Compute compute;
  switch (dtype) {
    case DType::f64:
      compute.gemm = probe_products<Products<double>>(comm, effort);
      compute.kernels = probe_kernels(comm, effort.budget, effort.kernels(dtype));
      break;
    case DType::bf16:
      compute.gemm = probe_products<WidenedProducts>(comm, effort);
      break;
    default:
      compute.gemm = probe_products<Products<float>>(comm, effort);
      compute.kernels = probe_kernels(comm, effort.budget, effort.kernels(dtype));
  }
  compute.peak = compute.gemm.best();
  return compute;
}

double probe_gemm_contention(const mpi::Communicator& comm, const ProbeEffort& effort) {
  const Index size = effort.gemm_sizes.back();
  Products<float> products(size);
  const Repetition repetition{.budget = effort.budget};
  const Seconds busy = time_busy(comm, repetition, [&] { products.run(size, size, size); });
  return time_of_one(comm, repetition, [&] { products.run(size, size, size); }) / busy;
}

}  // namespace shardline::roofline
