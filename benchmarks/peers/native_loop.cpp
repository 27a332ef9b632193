// Checks that `native` of `shardline bench` equals a plain loop over the MPI call.
//
//   mpirun -n N native_loop [ROUNDS]
//
// Four collectives of f32 from 4 KiB to 64 MiB. Every round measures the row of bench and the loop,
// one after the other; the order changes every round. The loops below are plain MPI, without this
// library. Both use the same memory, because the kernel copies some pages faster than others. Freed
// memory is kept, as in the command. Prints medians over the rounds, and the time of memcpy of as
// many bytes as the result. For the ratio of bench's time to the loop's it prints median and
// quartiles. Exit code 1 if three quarters of the rounds put the ratio on the same side of 1 by
// more than 5%. If only the median is that far off, the row is called noisy.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/base/statistics.h"
#include "runtime/mpi/environment.h"
#include "tools/bench/bench_rows.h"
#include "tools/job.h"
#include "tools/memory.h"

namespace {

using shardline::Index;
using shardline::Seconds;
using shardline::collectives::Algorithm;
using shardline::collectives::Kind;

constexpr double kAllowed = 0.05;
constexpr double kSeconds = 0.05;  ///< for the runs of a row or a loop in one round
constexpr std::size_t kCacheLine = 64;

/// The array that a rank gives, and the one that it gets.
struct Arrays {
  float* given;
  float* got;
};

/// The arrays of a loop over `count` elements, placed as in bench: the result starts at the next
/// cache line.
Arrays arrays_in(shardline::Tensor memory, Kind kind, int count, int ranks) {
  constexpr std::size_t kPerLine = kCacheLine / sizeof(float);
  const auto given = static_cast<std::size_t>(kind == Kind::all_gather ? count / ranks : count);
  auto* const first = reinterpret_cast<float*>(memory.data());
  std::fill(first, first + given, 1.0F);
  return {.given = first, .got = first + (given + kPerLine - 1) / kPerLine * kPerLine};
}

/// `runs` calls, one after another. `count` elements as in nccl-tests, a multiple of the ranks.
void call(Kind kind, const Arrays& arrays, int count, int ranks, Index runs) {
  const int block = count / ranks;
  switch (kind) {
    case Kind::all_gather:
      for (Index i = 0; i < runs; ++i) {
        MPI_Allgather(arrays.given, block, MPI_FLOAT, arrays.got, block, MPI_FLOAT, MPI_COMM_WORLD);
      }
      return;
    case Kind::reduce_scatter:
      for (Index i = 0; i < runs; ++i) {
        MPI_Reduce_scatter_block(arrays.given, arrays.got, block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      }
      return;
    case Kind::all_reduce:
      for (Index i = 0; i < runs; ++i) {
        MPI_Allreduce(arrays.given, arrays.got, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      }
      return;
    default:
      for (Index i = 0; i < runs; ++i) {
        MPI_Alltoall(arrays.given, block, MPI_FLOAT, arrays.got, block, MPI_FLOAT, MPI_COMM_WORLD);
      }
  }
}

/// This rank's time for one of `runs` calls in a row.
double time_of_calls(Kind kind, const Arrays& arrays, int count, int ranks, Index runs) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  call(kind, arrays, count, ranks, runs);
  return (MPI_Wtime() - begin) / static_cast<double>(runs);
}

/// The median of loops of about a millisecond, or of longer single calls, on the slowest rank. Only
/// a barrier stands between loops: uneven entry of the ranks can double the time of a large call.
double time_of_loop(Kind kind, const Arrays& arrays, int count, int ranks) {
  constexpr double kLoop = 1e-3;
  constexpr int kFewest = 5;
  time_of_calls(kind, arrays, count, ranks, 2);
  double each = time_of_calls(kind, arrays, count, ranks, 3);
  MPI_Bcast(&each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const auto runs = static_cast<Index>(std::ceil(kLoop / each));
  const int loops = std::max(kFewest, static_cast<int>(kSeconds / (each * static_cast<double>(runs))));
  std::vector<double> times;
  for (int i = 0; i < loops; ++i) times.push_back(time_of_calls(kind, arrays, count, ranks, runs));
  MPI_Allreduce(MPI_IN_PLACE, times.data(), loops, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return shardline::median(times);
}

/// Bench's result for one row by `native`.
class Bench {
 public:
  explicit Bench(shardline::tools::Job& job)
      : job_(job), group_(shardline::tools::group_in_order(job.world(), job.mesh(), job.mesh().axes().axes())) {
    plan_.axes = job.mesh().axes().axes();
    plan_.ranks = job.mesh().ranks();
    plan_.timing.budget = Seconds(kSeconds);
  }

  /// Uses arrays in `tensor`.
  shardline::tools::BenchRow row(const shardline::Tensor& tensor, Kind kind, Index count) {
    const shardline::tools::BenchMemory memory(tensor, "heap");
    const shardline::tools::BenchSetting setting{
        .plan = &plan_, .hardware = job_.prices(), .cold = shardline::Bytes(0), .group = &group_};
    return measure_size(job_, setting, {.kind = kind, .algorithms = {Algorithm::native}}, count, {memory, memory})
        .at(0);
  }

 private:
  shardline::tools::Job& job_;
  shardline::mpi::Communicator group_;
  shardline::tools::BenchPlan plan_;
};

/// The verdict on the ratios of a row's rounds.
std::string_view verdict(const std::vector<double>& ratios) {
  if (std::abs(shardline::median(ratios) - 1) <= kAllowed) return "";
  const double lower = shardline::quantile(ratios, 0.25);
  const double upper = shardline::quantile(ratios, 0.75);
  return lower > 1 + kAllowed || upper < 1 - kAllowed ? "  differs" : "  noisy";
}

/// Collective over all ranks: one line of the table. False if the two differ.
bool compare(shardline::tools::Job& job, Bench& bench, const shardline::Tensor& memory, Kind kind, Index bytes,
             int rounds) {
  const auto ranks = static_cast<int>(job.mesh().ranks());
  const auto count = static_cast<int>(bytes / static_cast<Index>(sizeof(float)) / ranks * ranks);
  const auto loop = [&] { return time_of_loop(kind, arrays_in(memory, kind, count, ranks), count, ranks); };
  std::vector<double> ours;
  std::vector<double> loops;
  std::vector<double> copies;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    if (i % 2 == 1) loops.push_back(loop());
    const shardline::tools::BenchRow row = bench.row(memory, kind, count);
    if (i % 2 == 0) loops.push_back(loop());
    ours.push_back(row.times.median.value);
    copies.push_back(row.copy.value);
    ratios.push_back(ours.back() / loops.back());
  }
  // Every rank has the same times: those of the slowest rank.
  const std::string_view said = verdict(ratios);
  const auto text = [](const std::vector<double>& times) { return to_string(Seconds(shardline::median(times))); };
  job.print(fmt::format("{:<15}{:>10}{:>12}{:>12}{:>12}{:>8.3f} ({:.3f} to {:.3f}){}\n", name_of(kind), bytes,
                        text(loops), text(ours), text(copies), shardline::median(ratios),
                        shardline::quantile(ratios, 0.25), shardline::quantile(ratios, 0.75), said));
  return said != "  differs";
}

int compare_all(int rounds) {
  shardline::tools::Job job({}, {});
  Bench bench(job);
  job.introduce();
  job.print(
      fmt::format("{:<15}{:>10}{:>12}{:>12}{:>12}{:>8}\n", "collective", "bytes", "loop", "bench", "copy", "ratio"));
  constexpr Index kLargest = Index{64} << 20;
  const shardline::Tensor memory(shardline::DType::f32,
                                 {2 * (kLargest + static_cast<Index>(kCacheLine)) / static_cast<Index>(sizeof(float))});
  bool agree = true;
  for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all}) {
    for (Index bytes = 4096; bytes <= kLargest; bytes *= 4) {
      agree = compare(job, bench, memory, kind, bytes, rounds) && agree;
    }
  }
  job.print(agree ? "native of bench is the plain loop, within 5%\n"
                  : "native of bench is NOT the plain loop within 5%\n");
  return agree ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  shardline::tools::keep_freed_memory();
  const shardline::mpi::Environment environment(&argc, &argv);
  constexpr int kRounds = 7;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : kRounds;
  return shardline::mpi::run_guarded([&] { return compare_all(std::max(rounds, 1)); });
}
