#include "roofline/measure/memory_probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/adamw.h"
#include "roofline/measure/repeat.h"
#include "runtime/layout/tensor.h"

namespace shardline::roofline {
namespace {

constexpr Index kBeyondCaches = Index{96} << 20;  ///< bytes of three arrays together
/// Bytes of the three arrays of a triad together.
constexpr std::array<Index, 7> kWorkingSets{Index{48} << 10, Index{192} << 10, Index{768} << 10, Index{3} << 20,
                                            Index{12} << 20, Index{48} << 20,  kBeyondCaches};

/// Three arrays of doubles, in memory like that of every tensor, and the loops over them.
class Arrays {
 public:
  Arrays() : memory_(DType::f64, {3 * kCount}) { std::fill_n(a_, memory_.size(), 1.0); }

  void triad(Index bytes) {
    const Index count = bytes / kTriadBytes;
    double* const a = a_;
    const double* const b = b_;
    const double* const c = c_;
    for (Index i = 0; i < count; ++i) a[i] = b[i] + factor_ * c[i];
    factor_ = a_[count / 2] > 1 ? 0.25 : 0.5;  // the next run depends on this one
  }

  void read() {
    double sum = 0;
    kernels::sum_squares<double>({a_, {memory_.size()}}, {&sum, {}});
    factor_ += sum * 1e-300;
  }

  void copy() { std::memcpy(b_, a_, kCount * sizeof(double)); }

  static constexpr Index kTriadBytes = 3 * sizeof(double);
  static constexpr Index kCount = kBeyondCaches / kTriadBytes;

 private:
  Tensor memory_;
  double* const a_ = memory_.view<double>().data;
  double* const b_ = a_ + kCount;
  const double* const c_ = b_ + kCount;
  double factor_ = 0.5;
};

Bytes bytes(double count) { return Bytes(count); }

}  // namespace

Memory probe_memory(const mpi::Communicator& comm, Seconds budget) {
  Arrays arrays;
  const auto rate = [&](double touched, auto body) {
    return bytes(touched) / time_busy(comm, {.budget = budget, .least = 3}, body);
  };
  constexpr auto kArray = static_cast<double>(Arrays::kCount * sizeof(double));
  Memory memory;
  memory.read = rate(kBeyondCaches, [&] { arrays.read(); });
  memory.copy = rate(2 * kArray, [&] { arrays.copy(); });
  std::vector<Curve::Point> points;
  for (const Index size : kWorkingSets) {
    const auto touched = static_cast<double>(size);
    points.push_back({touched, rate(touched, [&] { arrays.triad(size); }).value});
  }
  memory.caches = Curve(std::move(points));
  memory.triad = BytesPerSecond(memory.caches.points().back().rate);
  memory.triad_allocating = memory.triad * (4.0 / 3.0);
  return memory;
}

double probe_memory_contention(const mpi::Communicator& comm, Seconds budget) {
  Arrays arrays;
  const Repetition repetition{.budget = budget, .least = 3};
  const Seconds busy = time_busy(comm, repetition, [&] { arrays.triad(kBeyondCaches); });
  return time_of_one(comm, repetition, [&] { arrays.triad(kBeyondCaches); }) / busy;
}

}  // namespace shardline::roofline
