#include "tools/bench/bench_habits.h"

#include <CLI/CLI.hpp>

#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <vector>

namespace shardline::tools {
namespace {

/// An option of another program, and its replacement here.
struct ForeignOption {
  const char* name;
  const char* answer;
};

constexpr const char* kProcesses = "every rank is a process: mpirun -n N shardline bench";
constexpr const char* kWarmup = "runs for a tenth of --seconds come first and do not count";
constexpr const char* kChecked = "every result is checked, before and after the timed runs";

constexpr const char* kWallClock = "times are wall-clock times, and each run is waited for before the next";
constexpr const char* kSlowest = "each time is that of the slowest rank";
constexpr const char* kNoDevice = "ranks compute on CPU cores; there are no graphs and streams of a device";
constexpr const char* kShared = "arrays lie in the node's shared memory where there is room; the column memory tells";
constexpr const char* kLimits = "memory is checked before it is taken; --no-memory-check goes on all the same";

constexpr std::array<ForeignOption, 42> kForeignOptions{{
    {"-t", kProcesses},
    {"--nthreads", kProcesses},
    {"-g", kProcesses},
    {"--ngpus", kProcesses},
    {"-w", kWarmup},
    {"--warmup_iters", kWarmup},
    {"-x", kWarmup},
    {"--warmup", kWarmup},
    {"-c", kChecked},
    {"--check", kChecked},
    {"--validation", kChecked},
    {"--validate", kChecked},
    {"-z", kWallClock},
    {"--blocking", kWallClock},
    {"-C", kWallClock},
    {"--report_cputime", kWallClock},
    {"-a", kSlowest},
    {"--average", kSlowest},
    {"--full", "min, p99 and max stand in every row"},
    {"--warmup-iters", kWarmup},
    {"-r", "all_gather, reduce_scatter, all_reduce, all_to_all and shift have no root"},
    {"--root", "all_gather, reduce_scatter, all_reduce, all_to_all and shift have no root"},
    {"-G", kNoDevice},
    {"--cudagraph", kNoDevice},
    {"-y", kNoDevice},
    {"-T", "a run that hangs is ended by --timeout of the launcher"},
    {"--timeout", "a run that hangs is ended by --timeout of the launcher"},
    {"-J", "--json FILE writes the record"},
    {"--output_file", "--json FILE writes the record"},
    {"-S", "--json FILE writes the record, with the time of day"},
    {"--report_timestamps", "--json FILE writes the record, with the time of day"},
    {"-R", kShared},
    {"--local_register", kShared},
    {"-M", kLimits},
    {"--mem-limit", kLimits},
    {"-d", "--dtype f32, bf16, f64, i32 or i64"},
    {"--datatype", "--dtype f32, bf16, f64, i32 or i64"},
    {"-o", "--op sum, max or avg"},
    {"-m", "sizes are --bytes MIN:MAX[:FACTOR], or -b MIN -e MAX -f FACTOR"},
    {"--message-size", "sizes are --bytes MIN:MAX[:FACTOR], or -b MIN -e MAX -f FACTOR"},
    {"-i", "sizes grow by a factor, -f; the number of runs is --iters N"},
    {"--stepbytes", "sizes grow by a factor, -f; the number of runs is --iters N"},
}};

}  // namespace

std::string collective_name(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    if (c != '-' && c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view before : {"mpi", "osu", "nccl"}) {
    if (letters.starts_with(before)) letters.erase(0, before.size());
  }
  const std::string behind = "perf";
  if (letters.size() > behind.size() && letters.substr(letters.size() - behind.size()) == behind) {
    letters.resize(letters.size() - behind.size());
  }
  static const std::map<std::string, std::string> kNames{
      {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"}, {"reducescatterblock", "reduce_scatter"},
      {"allreduce", "all_reduce"}, {"alltoall", "all_to_all"},          {"shift", "shift"},
      {"sendrecv", "shift"}};
  const auto found = kNames.find(letters);
  return found == kNames.end() ? text : found->second;
}

void add_foreign_options(CLI::App& command) {
  for (const ForeignOption& option : kForeignOptions) {
    const CLI::callback_t refuse = [option](const CLI::results_t& /*values*/) -> bool {
      throw CLI::ValidationError(option.name, option.answer);
    };
    command.add_option(option.name, refuse, "")->expected(0, 1)->group("");
  }
}

}  // namespace shardline::tools
