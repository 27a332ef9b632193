#include "tools/bench_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "collectives/traffic.h"
#include "roofline/collective_cost.h"
#include "runtime/base/check.h"
#include "runtime/clock.h"
#include "tools/statistics.h"

namespace shardline::tools {

using collectives::Algorithm;
using collectives::Kind;

namespace {

constexpr Index kFewestRuns = 5;
constexpr Index kMostRuns = 10000;

/// Collective over all ranks: element i is the largest of what the ranks gave at i.
std::vector<Seconds> slowest(const mpi::Communicator& world, const std::vector<double>& times) {
  const std::size_t bytes = times.size() * sizeof(double);
  std::vector<Seconds> slowest(times.size());
  for (const std::string& text :
       world.all_gather_bytes(std::string(reinterpret_cast<const char*>(times.data()), bytes))) {
    std::vector<double> others(times.size());
    std::memcpy(others.data(), text.data(), bytes);
    for (std::size_t i = 0; i < times.size(); ++i) slowest[i] = std::max(slowest[i], Seconds(others[i]));
  }
  return slowest;
}

/// Runs of one case by one algorithm.
class Runner {
 public:
  Runner(Job& job, const BenchCase& bench_case, const PairLayout& layout, const BenchMemory& memory,
         const collectives::Options& options)
      : job_(job), case_(bench_case), layout_(layout), memory_(memory), options_(options) {}

  /// Makes sure that no result is left from before: bytes that no element of ours has.
  void clear_results() const {
    for (Index pair = 0; pair < layout_.pairs; ++pair) {
      Tensor result = memory_.result(layout_, pair);
      if (result.bytes() > 0) std::memset(result.data(), 0x7F, static_cast<std::size_t>(result.bytes()));
    }
  }

  /// Collective over all ranks: wrong elements on all of them after the latest run.
  Index wrong() const {
    return static_cast<Index>(job_.world().sum(static_cast<double>(case_.wrong(memory_.result(layout_, pair_)))));
  }

  /// Collective over all ranks: one run on the next pair, begun together; this rank's time.
  double run() {
    pair_ = next_;
    next_ = (next_ + 1) % layout_.pairs;
    const Tensor operand = memory_.operand(layout_, pair_);
    Tensor result = memory_.result(layout_, pair_);
    // Ranks leave a barrier at slightly different times; each counts from its own, so the last one to leave does not
    // add to its time what the others already did.
    job_.world().barrier();
    const Seconds begin = now();
    collectives::Handle handle = case_.start(job_.engine(), operand, result, options_);
    handle.wait();
    const double time = (now() - begin).value;
    wire_bytes_ = handle.wire_bytes();
    algorithm_ = handle.algorithm();
    wire_ = handle.wire();
    return time;
  }

  /// Collective over all ranks: as many runs as fit into `budget`, within bounds; the times of the slowest rank.
  std::vector<Seconds> timed_runs(Seconds budget) {
    const double warmup_share = 0.1;
    const Seconds first = time_of_runs(1);
    const auto warmups = std::clamp<Index>(agreed(budget * warmup_share / first), 1, kMostRuns);
    const Seconds each = time_of_runs(warmups) * (1.0 / static_cast<double>(warmups));
    const auto runs = std::clamp<Index>(agreed(budget / each), kFewestRuns, kMostRuns);
    std::vector<double> times(static_cast<std::size_t>(runs));
    for (double& time : times) time = run();
    return slowest(job_.world(), times);
  }

  /// Of the latest run, on this rank.
  Index wire_bytes() const { return wire_bytes_; }
  /// That carried out the latest run.
  Algorithm algorithm() const { return algorithm_; }
  collectives::Wire wire() const { return wire_; }

 private:
  /// This rank's time for runs with all that lies between them.
  Seconds time_of_runs(Index runs) {
    const Seconds begin = now();
    for (Index i = 0; i < runs; ++i) run();
    return now() - begin;
  }

  /// Collective over all ranks: rank 0's number on every rank.
  Index agreed(double number) const {
    const auto whole = static_cast<Index>(std::min(number, static_cast<double>(kMostRuns)));
    return std::stoll(job_.world().broadcast(std::to_string(whole), 0));
  }

  Job& job_;
  const BenchCase& case_;
  const PairLayout& layout_;
  const BenchMemory& memory_;
  collectives::Options options_;
  Index pair_ = 0;  ///< of the latest run
  Index next_ = 0;
  Index wire_bytes_ = 0;
  Algorithm algorithm_ = Algorithm::automatic;
  collectives::Wire wire_ = collectives::Wire::automatic;
};

/// Collective over all ranks.
BenchRow measure_row(Job& job, const BenchSetting& setting, const BenchCase& bench_case, const PairLayout& layout,
                     const BenchMemory& memory, Algorithm algorithm) {
  const BenchPlan& plan = *setting.plan;
  BenchRow row;
  row.kind = bench_case.spec().kind;
  row.algorithm = algorithm;
  row.count = bench_case.spec().count;
  row.bytes = Bytes(static_cast<double>(row.count * size_of(plan.dtype)));
  row.carried_by = algorithm;
  // MPI's blocking collectives are its best: what a program without Shardline would call.
  const bool blocking = algorithm == Algorithm::native;
  Runner runner(job, bench_case, layout, memory, {algorithm, plan.segment_bytes, plan.wire, blocking});
  runner.clear_results();
  runner.run();
  row.wrong = runner.wrong();
  if (algorithm != Algorithm::native) {
    row.wire_bytes = static_cast<Index>(job.world().max(static_cast<double>(runner.wire_bytes())));
    row.carried_by = runner.algorithm();
    row.predicted = predicted_price(bench_case, {.algorithm = row.carried_by, .wire = runner.wire()}, plan.cold,
                                    job.mesh().axes(), setting.hardware);
  }
  runner.clear_results();
  row.times = summarise(runner.timed_runs(plan.budget));
  row.wrong = std::max(row.wrong, runner.wrong());
  row.algorithm_bandwidth = row.bytes / row.times.median;
  if (plan.ranks > 1) row.bus_bandwidth = bandwidths(row.kind, plan.ranks, row.bytes, row.times.median).bus;
  return row;
}

void compare_with_native(std::vector<BenchRow>& rows) {
  const auto native =
      std::find_if(rows.begin(), rows.end(), [](const BenchRow& row) { return row.algorithm == Algorithm::native; });
  if (native == rows.end()) return;
  for (BenchRow& row : rows) row.times_native = native->times.median / row.times.median;
}

}  // namespace

std::optional<double> BenchRow::ratio() const {
  return predicted ? std::optional(times.median / predicted->time) : std::nullopt;
}

RowTimes summarise(const std::vector<Seconds>& times) {
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return {static_cast<Index>(times.size()), *least, median(times), quantile(times, 0.99), *most};
}

CaseSpec case_of(const BenchPlan& plan, Kind kind, Index count, std::uint64_t seed) {
  return {kind, plan.axes, plan.dtype, plan.op, count, seed};
}

roofline::Price predicted_price(const BenchCase& bench_case, const collectives::Options& how, bool cold,
                                const AbstractMesh& mesh, const roofline::Hardware& hardware) {
  const CaseSpec& spec = bench_case.spec();
  const Index ranks = bench_case.positions();
  const Bytes bytes(static_cast<double>(spec.count * size_of(spec.dtype)));
  // Every chunk but one is added on each rank.
  const Bytes added = reduces(spec.kind) ? bytes * (1 - 1 / static_cast<double>(ranks)) : Bytes(0);
  // Its own block, or the chunk for itself, is copied on each rank.
  const bool keeps = spec.kind == Kind::all_gather || spec.kind == Kind::all_to_all;
  const Bytes kept = keeps ? bytes / static_cast<double>(ranks) : Bytes(0);
  Axes moving;
  std::vector<Index> sizes;
  for (const Axis& axis : spec.axes) {
    if (mesh.size(axis) == 1) continue;
    moving.push_back(axis);
    sizes.push_back(mesh.size(axis));
  }
  if (moving.empty()) return roofline::transfer_price({.local = 2 * bytes}, moving, hardware);  // a copy
  const collectives::Traffic traffic =
      collectives::traffic(spec.kind, how.algorithm, sizes, spec.count, element_sizes(spec.dtype, how.wire));
  const Bytes wire(static_cast<double>(traffic.wire_bytes));
  if (how.algorithm == Algorithm::direct && roofline::share_memory(moving, hardware)) {
    roofline::Reading reading = roofline::reading_of({.ranks = sizes,
                                                      .received = wire,
                                                      .added = std::min(wire, added),
                                                      .kept = kept,
                                                      .rounds = spec.kind == Kind::all_reduce ? 2 : 1},
                                                     hardware);
    reading.again = !cold;
    const Index both = bench_case.largest_operand() + bench_case.largest_result();
    reading.reach =
        Bytes(cold ? std::numeric_limits<double>::infinity() : static_cast<double>(both * size_of(spec.dtype)));
    return roofline::shared_price(reading, moving, hardware);
  }
  const roofline::Transfer transfer{
      .steps = static_cast<double>(traffic.steps), .wire = wire, .local = 3 * added, .kept = 2 * kept};
  return roofline::transfer_price(transfer, moving, hardware);
}

std::vector<BenchRow> measure_size(Job& job, const BenchSetting& setting, const KindPlan& kind, Index count,
                                   const BenchMemories& memories) {
  const BenchCase bench_case(job.mesh(), case_of(*setting.plan, kind.kind, count, job.seed()));
  const PairLayout layout = layout_of(bench_case, setting.cold);
  std::vector<BenchRow> rows;
  for (const Algorithm algorithm : kind.algorithms) {
    const BenchMemory& memory = algorithm == Algorithm::native ? memories.native : memories.ours;
    for (Index pair = 0; pair < layout.pairs; ++pair) {
      Tensor operand = memory.operand(layout, pair);
      bench_case.fill(operand);
    }
    rows.push_back(measure_row(job, setting, bench_case, layout, memory, algorithm));
  }
  compare_with_native(rows);
  return rows;
}

}  // namespace shardline::tools
