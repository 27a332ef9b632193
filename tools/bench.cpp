#include "tools/bench.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "collectives/arena.h"
#include "runtime/base/check.h"
#include "tools/bench_report.h"
#include "tools/caches.h"

namespace shardline::tools {

using collectives::Algorithm;

namespace {

/// Collective over all ranks: what the arrays of one rank fill together, so that those of a node are twice its
/// last-level cache.
Bytes cold_bytes(const Job& job, const BenchPlan& plan) {
  if (!plan.cold) return Bytes(0);
  return Bytes(2 * job.world().max(last_level_cache().value) / job.machine().ranks_per_node);
}

/// Bytes of the largest row on one rank. Refuses what the nodes could not hold, before anything is allocated.
Index room_needed(const Job& job, const BenchPlan& plan, Bytes cold) {
  constexpr double kScratch = 2;  // what a collective may pack and keep of partial results is up to as much again
  Index room = 0;
  for (const KindPlan& kind : plan.kinds) {
    for (const Index count : plan.counts) {
      const Bytes size(static_cast<double>(count) * static_cast<double>(size_of(plan.dtype)));
      // An operand and a result, of which the gathered one at least is whole.
      require(size * job.machine().ranks_per_node <= job.machine().memory,
              "{} of {} needs more than {} on each node ({} ranks), which has {}", name_of(kind.kind), to_string(size),
              to_string(size * job.machine().ranks_per_node), job.machine().ranks_per_node,
              to_string(job.machine().memory));
      const BenchCase bench_case(job.mesh(), case_of(plan, kind.kind, count, job.seed()));
      const Index bytes = layout_of(bench_case, cold).bytes();
      const Bytes needed(static_cast<double>(bytes) * kScratch * job.machine().ranks_per_node);
      require(needed <= job.machine().memory, "{} of {} needs {} on each node ({} ranks), which has {}",
              name_of(kind.kind), to_string(size), to_string(needed), job.machine().ranks_per_node,
              to_string(job.machine().memory));
      room = std::max(room, bytes);
    }
  }
  return room;
}

/// Collective over all ranks: memory for rows of up to `room` bytes on a rank. Ours lies in an arena, where ranks share
/// a node and its shared memory has room; otherwise, unless `direct` was asked for by name, anywhere.
BenchMemories allocate(Job& job, const BenchPlan& plan, Index room) {
  const Shape words{(room + size_of(DType::i64) - 1) / size_of(DType::i64)};
  const auto asks_for = [&](Algorithm algorithm) {
    return std::any_of(plan.kinds.begin(), plan.kinds.end(), [&](const KindPlan& kind) {
      return std::find(kind.algorithms.begin(), kind.algorithms.end(), algorithm) != kind.algorithms.end();
    });
  };
  const Tensor heap(DType::i64, asks_for(Algorithm::native) ? words : Shape{0});
  const std::string obstacle = collectives::give_arena(job.engine(), words[0] * size_of(DType::i64));
  if (obstacle.empty()) return {BenchMemory(job.engine().arena()->allocate(DType::i64, words)), BenchMemory(heap)};
  require(!asks_for(Algorithm::direct), "--algorithm direct: {}", obstacle);
  job.note(fmt::format("no arena for algorithm direct: {}", obstacle));
  return {BenchMemory(Tensor(DType::i64, words)), BenchMemory(heap)};
}

/// Collective over all ranks: measures and prints every row.
std::vector<BenchRow> run(Job& job, const BenchSetting& setting, const BenchMemories& memories) {
  const BenchPlan& plan = *setting.plan;
  std::vector<BenchRow> rows;
  job.print(header_text(plan, job.mesh().axes()));
  for (const KindPlan& kind : plan.kinds) {
    for (const Index count : plan.counts) {
      for (const BenchRow& row : measure_size(job, setting, kind, count, memories)) {
        job.print(row_text(plan, row));
        rows.push_back(row);
      }
    }
  }
  job.print("\n" + summary_text(rows) + comparison_text(rows) + diagnosis(rows));
  return rows;
}

int bench(const BenchOptions& options) {
  CommandFiles files = files_of(options.common);
  files.outputs.push_back({"--csv", "table", options.csv});
  files.outputs.push_back({"--plot", "plot", options.plot});
  files.outputs.push_back({"--report", "page", options.report});
  Job job(options.common, files);
  const BenchPlan plan = plan_bench(options, job.dtype(), job.mesh().axes());
  const Bytes cold = cold_bytes(job, plan);
  const Index room = room_needed(job, plan, cold);

  job.introduce();
  for (const std::string& text : plan.left_out) job.note("left out: " + text);
  const roofline::Hardware& hardware = job.predictions();
  const BenchMemories memories = allocate(job, plan, room);
  const std::vector<BenchRow> rows = run(job, {&plan, hardware, cold}, memories);

  Json record = job.header("shardline.bench/1", "bench");
  add_keys(record, plan, rows);
  job.write_json(record);
  job.write_file(options.csv, csv_text(plan, rows));
  if (!options.plot.empty()) job.write_file(options.plot, to_svg(plot_of(plan, job.mesh().axes(), rows)));
  if (!options.report.empty()) job.write_file(options.report, to_html(page_of(job, plan, rows)));
  return exit_code(rows);
}

constexpr const char* kFooter = R"(
Example: all_gather and reduce_scatter over the four ranks of axis X, by what the library chooses, by a one-way ring and by
the MPI library.

  mpirun -n 4 shardline bench all_gather reduce_scatter --mesh X=4 --axis X --algorithm auto,ring,native --bytes 1K:64M

prints a row for each collective, size and algorithm. Sizes are those of nccl-tests: the gathered array of all_gather and
reduce_scatter, what one rank holds of all_reduce, all_to_all and shift. algbw is size / median time; busbw is algbw times
(p-1)/p for all_gather, reduce_scatter and all_to_all, 2(p-1)/p for all_reduce, 1 for shift. Each time is that of the
slowest rank. wire: bytes leaving the busiest rank. predicted: what the algorithm should take by the figures of --machine
or, without, by those of a short measurement at the start. x native: how many times faster than the MPI library.
wrong: elements that are not what they should be, on all ranks, before or after the timed runs.
Exit code 0: right; 1: a row is wrong; 2: bad usage.)";

}  // namespace

void add_bench(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("bench", "Measure the bandwidth of collectives, every result checked");
  const auto options = std::make_shared<BenchOptions>();
  add_bench_options(*command, *options);
  command->footer(kFooter);
  command->callback([options, &run] { run = [options] { return bench(*options); }; });
}

}  // namespace shardline::tools
