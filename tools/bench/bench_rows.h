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

/// The times of one run in a row, from samples of the slowest rank (tools/bench/bench_timing.h).
struct RowTimes {
  Index runs = 0;  ///< timed runs in all samples
  Index samples = 0;
  Seconds min;
  Seconds median;
  Seconds p99;  ///< nearest rank
  Seconds max;
};

RowTimes summarise(const SampledTimes& times);

/// The measurement of a collective by one algorithm at one size.
struct BenchRow {
  collectives::Kind kind = collectives::Kind::all_gather;
  collectives::Algorithm algorithm = collectives::Algorithm::ring;   ///< as requested
  collectives::Algorithm carried_by = collectives::Algorithm::ring;  ///< the choice of `auto`, else the same
  Index count = 0;                                                   ///< elements
  Bytes bytes;
  RowTimes times;
  BytesPerSecond algorithm_bandwidth;           ///< bytes over the median time
  std::optional<BytesPerSecond> bus_bandwidth;  ///< none for one rank
  std::optional<Index> wire_bytes;              ///< bytes that leave the busiest rank; none for `native`, which does
                                                ///< not tell
  std::optional<roofline::Price> predicted;     ///< none for `native`
  Index wrong = 0;                              ///< elements over all ranks, in the worse of two checks
  std::optional<double> times_native;           ///< how many times faster than `native`, if that was measured too
  const char* memory = "heap";                  ///< where its arrays lie: BenchMemory::place()
  Seconds copy;                                 ///< memcpy of as many bytes as the result, on every rank at once

  /// Median time over predicted time.
  std::optional<double> ratio() const;
};

/// What all rows of one run share.
struct BenchSetting {
  const BenchPlan* plan = nullptr;
  roofline::Hardware hardware;
  Bytes cold;                                ///< total size of one rank's arrays; 0 for one pair
  const mpi::Communicator* group = nullptr;  ///< of the plan's axes, from group_in_order(); for algorithm native
};

/// The case of a row.
CaseSpec case_of(const BenchPlan& plan, collectives::Kind kind, Index count, std::uint64_t seed);

/// The predicted time of an algorithm: one of ours, not `auto`; bf16 over the given wire. The
/// caches have lost the arrays if `cold`; else the arrays are used again and again. Does not
/// communicate.
roofline::Price predicted_price(const BenchCase& bench_case, const collectives::Options& how, bool cold,
                                const AbstractMesh& mesh, const roofline::Hardware& hardware);

/// Collective over all ranks: measures one collective at one size, with each of its algorithms in
/// turn. Each runs once on arrays without a result and is checked, then timed, then checked again.
std::vector<BenchRow> measure_size(Job& job, const BenchSetting& setting, const KindPlan& kind, Index count,
                                   const BenchMemories& memories);

}  // namespace shardline::tools
