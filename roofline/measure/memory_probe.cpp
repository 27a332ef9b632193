#include "roofline/measure/memory_probe.h"

#include <array>
#include <cstring>
#include <vector>

#include "kernels/adamw.h"
#include "roofline/measure/repeat.h"

namespace shardline::roofline {
namespace {

constexpr Index kBeyondCaches = Index{96} << 20;  ///< bytes of three arrays together
/// Bytes of the three arrays of a triad together.
constexpr std::array<Index, 7> kWorkingSets{Index{48} << 10, Index{192} << 10, Index{768} << 10, Index{3} << 20,
                                            Index{12} << 20, Index{48} << 20,  kBeyondCaches};

/// Three arrays of doubles and the loops over them.
class Arrays {
 public:
  Arrays() : a_(kCount, 1), b_(kCount, 2), c_(kCount, 3) {}

  void triad(Index bytes) {
    const auto count = static_cast<std::size_t>(bytes / kTriadBytes);
    double* const a = a_.data();
    const double* const b = b_.data();
    const double* const c = c_.data();
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + factor_ * c[i];
    factor_ = a[count / 2] > 1 ? 0.25 : 0.5;  // the next run depends on this one
  }

  void read() {
    double sum = 0;
    kernels::sum_squares<double>({a_.data(), {static_cast<Index>(kCount)}}, {&sum, {}});
    factor_ += sum * 1e-300;
  }

  void copy() { std::memcpy(b_.data(), a_.data(), kCount * sizeof(double)); }

  static constexpr Index kTriadBytes = 3 * sizeof(double);
  static constexpr std::size_t kCount = kBeyondCaches / kTriadBytes;

 private:
  std::vector<double> a_, b_, c_;
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
  memory.read = rate(kArray, [&] { arrays.read(); });
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
