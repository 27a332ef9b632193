#include "tools/bench/bench.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "collectives/shared/arena.h"
#include "runtime/base/check.h"
#include "runtime/host/memory_limits.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/bench_sizes.h"
#include "tools/bench/caches.h"
#include "tools/trace/busy.h"

namespace shardline::tools {

using collectives::Algorithm;

namespace {

/// Collective over all ranks: the total size of one rank's arrays, so that those of a node are
/// twice its last-level cache.
Bytes cold_bytes(const Job& job, const BenchPlan& plan) {
  if (!plan.cold) return Bytes(0);
  return Bytes(2 * job.world().max(last_level_cache().value) / job.machine().ranks_per_node);
}

bool asks_for(const BenchPlan& plan, Algorithm algorithm) {
  return std::any_of(plan.kinds.begin(), plan.kinds.end(), [&](const KindPlan& kind) {
    return std::find(kind.algorithms.begin(), kind.algorithms.end(), algorithm) != kind.algorithms.end();
  });
}

/// Bytes on one rank for a row: for our algorithms; and for the MPI library and copies.
struct Room {
  Index ours = 0;
  Index heap = 0;
};

/// The largest room of all collectives, for rows of `count` elements.
Room room_of(const Job& job, const BenchPlan& plan, Index count, Bytes cold) {
  Room room;
  for (const KindPlan& kind : plan.kinds) {
    const BenchCase bench_case(job.mesh(), case_of(plan, kind.kind, count, job.seed()));
    const Index bytes = layout_of(bench_case, cold).bytes();
    room.ours = std::max(room.ours, bytes);
    room.heap = std::max({room.heap, bytes, copy_layout_of(bench_case, cold).bytes()});
  }
  return room;
}

/// The memory of a rank for rows that need up to `room`.
MemoryNeed need_of(const Room& room) {
  const Bytes ours(static_cast<double>(room.ours));
  // A collective may pack data and keep partial results: up to the same size again.
  return {.own = Bytes(static_cast<double>(room.heap)) + ours, .shared = ours};
}

/// The largest row size, a power of two, for which `fits` is true.
std::string largest_that_fits(const Job& job, const BenchPlan& plan, Bytes refused, Bytes cold,
                              const std::function<bool(const MemoryNeed&)>& fits) {
  constexpr Index kMost = Index{1} << 50;  // no arithmetic overflows below this
  for (Index bytes = kMost; bytes >= size_of(plan.dtype); bytes /= 2) {
    if (Bytes(static_cast<double>(bytes)) >= refused) continue;
    if (!fits(need_of(room_of(job, plan, bytes / size_of(plan.dtype), cold)))) continue;
    return fmt::format("sizes up to {} would fit", binary_size(bytes));
  }
  return "no size would fit";
}

/// Collective over all ranks: the need of the largest row. Refuses it before any allocation if it
/// does not fit.
Room room_needed(const Job& job, const BenchPlan& plan, Bytes cold) {
  const Index most = *std::max_element(plan.counts.begin(), plan.counts.end());
  const Bytes size(static_cast<double>(most) * static_cast<double>(size_of(plan.dtype)));
  // Operand and result; at least the gathered one is whole. Beyond any machine the rest would
  // overflow.
  const bool countable = size < kBeyondAnyMachine;
  Room room;
  for (const Index count : plan.counts) {
    if (!countable) break;
    const Room each = room_of(job, plan, count, cold);
    room = {.ours = std::max(room.ours, each.ours), .heap = std::max(room.heap, each.heap)};
  }
  job.require_memory(fmt::format("bench of {}", to_string(size)),
                     countable ? need_of(room) : MemoryNeed{.own = size, .shared = size},
                     [&](const auto& fits) { return largest_that_fits(job, plan, size, cold, fits); });
  require(countable, "{} a row: at most {}", to_string(size), to_string(kBeyondAnyMachine));
  return room;
}

/// Collective over all ranks: memory for rows that need up to `room` per rank. Ours lies in an
/// arena if ranks share a node and its shared memory has room. Else it lies on the heap, unless
/// `direct` was requested by name.
BenchMemories allocate(Job& job, const BenchPlan& plan, const Room& room) {
  const Index word = size_of(DType::i64);
  const Shape ours{(room.ours + word - 1) / word};
  const BenchMemory heap(Tensor(DType::i64, {(room.heap + word - 1) / word}), "heap");
  const std::string obstacle = collectives::give_arena(job.engine(), ours[0] * word);
  if (obstacle.empty()) {
    return {.ours = BenchMemory(job.engine().arena()->allocate(DType::i64, ours), "arena"), .native = heap};
  }
  require(!asks_for(plan, Algorithm::direct), "--algorithm direct: {}", obstacle);
  job.note(fmt::format("no arena for algorithm direct: {}", obstacle));
  return {.ours = BenchMemory(Tensor(DType::i64, ours), "heap"), .native = heap};
}

/// Collective over all ranks: measures and prints every row.
std::vector<BenchRow> run(Job& job, const BenchSetting& setting, const BenchMemories& memories) {
  const BenchPlan& plan = *setting.plan;
  std::vector<BenchRow> rows;
  job.other_work().begin();
  job.print(header_text(plan, job.mesh().axes()));
  for (const KindPlan& kind : plan.kinds) {
    for (const Index count : plan.counts) {
      for (const BenchRow& row : measure_size(job, setting, kind, count, memories)) {
        job.print(row_text(plan, row));
        rows.push_back(row);
      }
    }
  }
  job.other_work().end();
  const std::optional<OtherWork::Node>& busiest = job.other_work().busiest();
  job.print("\n" + summary_text(rows) + busy_line(busiest) + comparison_text(rows) + diagnosis(rows, busiest));
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
  const Room room = room_needed(job, plan, cold);

  job.introduce();
  for (const std::string& text : plan.left_out) job.note("left out: " + text);
  const roofline::Hardware& hardware = job.predictions();
  const BenchMemories memories = allocate(job, plan, room);
  const mpi::Communicator group = group_in_order(job.world(), job.mesh(), plan.axes);
  const BenchSetting setting{.plan = &plan, .hardware = hardware, .cold = cold, .group = &group};
  const std::vector<BenchRow> rows = run(job, setting, memories);

  Json record = job.header("shardline.bench/1", "bench");
  add_keys(record, plan, rows);
  job.write_json(record);
  job.write_file(options.csv, csv_text(plan, rows));
  if (!options.plot.empty()) job.write_file(options.plot, to_svg(plot_of(plan, job.mesh().axes(), rows)));
  if (!options.report.empty()) job.write_file(options.report, to_html(page_of(job, plan, rows)));
  return exit_code(rows);
}

constexpr const char* kBenchFooter = R"(
Example: all_gather and reduce_scatter over the four ranks of axis X, by what the library chooses, by a one-way ring and by
the MPI library.

  mpirun -n 4 shardline bench all_gather reduce_scatter --mesh X=4 --axis X --algorithm auto,ring,native --bytes 1K:64M

prints a row for each collective, size and algorithm. Sizes are those of nccl-tests: the gathered array of all_gather and
reduce_scatter, what one rank holds of all_reduce, all_to_all and shift. algbw is size / median time; busbw is algbw times
(p-1)/p for all_gather, reduce_scatter and all_to_all, 2(p-1)/p for all_reduce, 1 for shift. Each time is that of the
slowest rank, for one of several runs in a row. wire: bytes leaving the busiest rank. predicted: what the algorithm should take by the figures of --machine
or, without, by those of a short measurement at the start. x native: how many times faster than the MPI library. copy: what
memcpy takes for as many bytes as the result has. memory: where the arrays lie, in the node's shared arena or on the heap.
wrong: elements that are not what they should be, on all ranks, before or after the timed runs.
Exit code 0: right; 1: a row is wrong; 2: bad usage.)";

}  // namespace

void add_bench(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("bench", "Measure the bandwidth of collectives, every result checked");
  const auto options = std::make_shared<BenchOptions>();
  add_bench_options(*command, *options);
  command->footer(kBenchFooter);
  command->callback([options, &run] { run = [options] { return bench(*options); }; });
}

}  // namespace shardline::tools
