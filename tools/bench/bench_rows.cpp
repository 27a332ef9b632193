#include "tools/bench/bench_rows.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "collectives/schedule/traffic.h"
#include "roofline/price/collective_cost.h"
#include "runtime/base/statistics.h"

namespace shardline::tools {

using collectives::Algorithm;
using collectives::Kind;

namespace {

/// Runs one case by one algorithm, each run on the next pair of arrays. Objects that a program
/// would keep between calls are made before.
class Runner {
 public:
  Runner(Job& job, const BenchSetting& setting, const BenchCase& bench_case, const PairLayout& layout,
         const BenchMemory& memory, Algorithm algorithm)
      : job_(job),
        case_(bench_case),
        options_({.algorithm = algorithm, .segment_bytes = setting.plan->segment_bytes, .wire = setting.plan->wire}) {
    for (Index pair = 0; pair < layout.pairs; ++pair) {
      operands_.push_back(memory.operand(layout, pair));
      results_.push_back(memory.result(layout, pair));
      if (algorithm != Algorithm::native) continue;
      native_.push_back(case_.native_call(*setting.group, operands_.back(), results_.back()));
    }
  }

  void fill() {
    for (Tensor& operand : operands_) case_.fill(operand);
  }

  /// Removes old results: fills with bytes that no element has.
  void clear_results() {
    for (Tensor& result : results_) {
      if (result.bytes() > 0) std::memset(result.data(), 0x7F, static_cast<std::size_t>(result.bytes()));
    }
  }

  /// Collective over all ranks: wrong elements of all ranks after the latest run.
  Index wrong() const {
    return static_cast<Index>(job_.world().sum(static_cast<double>(case_.wrong(results_[latest_]))));
  }

  /// Collective over the axes: one run on the next pair, as a program would call it.
  void run() {
    latest_ = next_;
    next_ = next_ + 1 == operands_.size() ? 0 : next_ + 1;
    if (native_.empty()) {
      case_.start(job_.engine(), operands_[latest_], results_[latest_], options_).wait();
    } else {
      native_[latest_]();
    }
  }

  /// Collective over the axes: run() by one of our algorithms. The handle tells the algorithm and
  /// the moved bytes.
  collectives::Handle run_and_tell() {
    collectives::Handle handle = case_.start(job_.engine(), operands_[0], results_[0], options_);
    handle.wait();
    return handle;
  }

 private:
  Job& job_;
  const BenchCase& case_;
  collectives::Options options_;
  std::vector<Tensor> operands_;  ///< by pair
  std::vector<Tensor> results_;
  std::vector<std::function<void()>> native_;  ///< MPI's call on each pair, for algorithm native
  std::size_t latest_ = 0;                     ///< pair of the latest run
  std::size_t next_ = 0;
};

/// Collective over all ranks: the time to copy an array of the size of a result, on every rank at
/// the same time.
Seconds time_of_copy(Job& job, const BenchSetting& setting, const BenchCase& bench_case, const BenchMemory& memory) {
  constexpr double kShareOfBudget = 0.25;
  const PairLayout layout = copy_layout_of(bench_case, setting.cold);
  std::vector<Tensor> from;
  std::vector<Tensor> to;
  for (Index pair = 0; pair < layout.pairs; ++pair) {
    from.push_back(memory.operand(layout, pair));
    to.push_back(memory.result(layout, pair));
    if (from.back().bytes() > 0) std::memset(from.back().data(), 1, static_cast<std::size_t>(from.back().bytes()));
  }
  std::size_t next = 0;
  const auto copy = [&] {
    if (to[next].bytes() > 0) {
      std::memcpy(to[next].data(), from[next].data(), static_cast<std::size_t>(to[next].bytes()));
    }
    next = next + 1 == to.size() ? 0 : next + 1;
  };
  const TimingPlan plan{.budget = setting.plan->timing.budget * kShareOfBudget, .runs = setting.plan->timing.runs};
  return median(sample_times(job.world(), plan, copy).samples);
}

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
  row.memory = memory.place();
  Runner runner(job, setting, bench_case, layout, memory, algorithm);
  runner.fill();
  runner.clear_results();
  if (algorithm == Algorithm::native) {
    runner.run();
  } else {
    const collectives::Handle handle = runner.run_and_tell();
    row.wire_bytes = static_cast<Index>(job.world().max(static_cast<double>(handle.wire_bytes())));
    row.carried_by = handle.algorithm();
    row.predicted = predicted_price(bench_case, {.algorithm = row.carried_by, .wire = handle.wire()}, plan.cold,
                                    job.mesh().axes(), setting.hardware);
  }
  row.wrong = runner.wrong();
  runner.clear_results();
  row.times = summarise(sample_times(job.world(), plan.timing, [&] { runner.run(); }));
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

RowTimes summarise(const SampledTimes& times) {
  const auto [least, most] = std::minmax_element(times.samples.begin(), times.samples.end());
  return {.runs = times.runs,
          .samples = static_cast<Index>(times.samples.size()),
          .min = *least,
          .median = median(times.samples),
          .p99 = quantile(times.samples, 0.99),
          .max = *most};
}

CaseSpec case_of(const BenchPlan& plan, Kind kind, Index count, std::uint64_t seed) {
  return {.kind = kind, .axes = plan.axes, .dtype = plan.dtype, .op = plan.op, .count = count, .seed = seed};
}

roofline::Price predicted_price(const BenchCase& bench_case, const collectives::Options& how, bool cold,
                                const AbstractMesh& mesh, const roofline::Hardware& hardware) {
  const CaseSpec& spec = bench_case.spec();
  const Index ranks = bench_case.positions();
  const Bytes bytes(static_cast<double>(spec.count * size_of(spec.dtype)));
  // Each rank adds all chunks except one.
  const Bytes added = reduces(spec.kind) ? bytes * (1 - 1 / static_cast<double>(ranks)) : Bytes(0);
  // Each rank copies its own block, or the chunk for itself.
  const bool keeps = spec.kind == Kind::all_gather || spec.kind == Kind::all_to_all;
  const Bytes kept = keeps ? bytes / static_cast<double>(ranks) : Bytes(0);
  Axes moving;
  std::vector<Index> sizes;
  for (const Axis& axis : spec.axes) {
    if (mesh.size(axis) == 1) continue;
    moving.push_back(axis);
    sizes.push_back(mesh.size(axis));
  }
  if (moving.empty()) return roofline::message_price({.local = 2 * bytes}, moving, hardware);  // a copy
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
  const roofline::MessageWork work{
      .messages = static_cast<double>(traffic.rounds), .wire = wire, .local = 3 * added, .kept = 2 * kept};
  return roofline::message_price(work, moving, hardware);
}

std::vector<BenchRow> measure_size(Job& job, const BenchSetting& setting, const KindPlan& kind, Index count,
                                   const BenchMemories& memories) {
  const BenchCase bench_case(job.mesh(), case_of(*setting.plan, kind.kind, count, job.seed()));
  const PairLayout layout = layout_of(bench_case, setting.cold);
  const Seconds copy = time_of_copy(job, setting, bench_case, memories.native);
  std::vector<BenchRow> rows;
  for (const Algorithm algorithm : kind.algorithms) {
    const BenchMemory& memory = algorithm == Algorithm::native ? memories.native : memories.ours;
    rows.push_back(measure_row(job, setting, bench_case, layout, memory, algorithm));
    rows.back().copy = copy;
  }
  compare_with_native(rows);
  return rows;
}

}  // namespace shardline::tools
