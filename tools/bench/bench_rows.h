#pragma once

#include <optional>
#include <string>
#include <vector>

#include "roofline/price/hardware.h"
#include "tools/bench/bandwidth.h"
#include "tools/bench/bench_memory.h"
#include "tools/bench/bench_options.h"
#include "tools/bench/bench_timing.h"

namespace shardline::tools {

/// Times of one run of a row, from samples of the slowest rank (tools/bench/bench_timing.h).
struct RowTimes {
  Index runs = 0;  ///< timed, in all samples together
  Index samples = 0;
  Seconds min;
  Seconds median;
  Seconds p99;  ///< nearest rank
  Seconds max;
};

RowTimes summarise(const SampledTimes& times);

/// What was measured of a collective by one algorithm at one size.
struct BenchRow {
  collectives::Kind kind = collectives::Kind::all_gather;
  collectives::Algorithm algorithm = collectives::Algorithm::ring;   ///< that was asked for
  collectives::Algorithm carried_by = collectives::Algorithm::ring;  ///< that `auto` chose, otherwise the same
  Index count = 0;                                                   ///< elements
  Bytes bytes;
  RowTimes times;
  BytesPerSecond algorithm_bandwidth;           ///< bytes over the median time
  std::optional<BytesPerSecond> bus_bandwidth;  ///< none for one rank
  std::optional<Index> wire_bytes;              ///< leaving the busiest rank; none for `native`, which does not tell
  std::optional<roofline::Price> predicted;     ///< none for `native`
  Index wrong = 0;                              ///< elements over all ranks, in the worse of two checks
  std::optional<double> times_native;           ///< how many times faster than `native`, when that was measured too
  const char* memory = "heap";                  ///< where its arrays lie: BenchMemory::place()
  Seconds copy;                                 ///< of as many bytes as the result has, by memcpy on every rank at once

  /// Median over predicted time.
  std::optional<double> ratio() const;
};

/// Everything that the rows of one run share.
struct BenchSetting {
  const BenchPlan* plan = nullptr;
  roofline::Hardware hardware;
  Bytes cold;                                ///< that the arrays of one rank fill together; 0 for one pair
  const mpi::Communicator* group = nullptr;  ///< of the plan's axes, that of group_in_order(), for algorithm native
};

/// The case of a row.
CaseSpec case_of(const BenchPlan& plan, collectives::Kind kind, Index count, std::uint64_t seed);

/// What an algorithm, which is one of ours and not `auto`, is predicted to take, bf16 over the wire given, on arrays
/// that the caches have lost or, unless `cold`, used over and over. Talks to nobody.
roofline::Price predicted_price(const BenchCase& bench_case, const collectives::Options& how, bool cold,
                                const AbstractMesh& mesh, const roofline::Hardware& hardware);

/// Collective over all ranks: measures one collective at one size with each of its algorithms, one after the other.
/// Each is run once on arrays that hold no result and checked, timed, and checked again.
std::vector<BenchRow> measure_size(Job& job, const BenchSetting& setting, const KindPlan& kind, Index count,
                                   const BenchMemories& memories);

}  // namespace shardline::tools
