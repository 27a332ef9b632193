#pragma once

#include <string>

namespace CLI {
class App;
}

namespace shardline::tools {

// What users of nccl-tests and of the OSU benchmarks type.

/// The collective as the library calls it, however it is written: capitals, '-' and '_' do not count, "MPI_" or "osu_"
/// may stand before it and "_perf" behind, and reduce_scatter_block is reduce_scatter. AllReduce, all-reduce,
/// MPI_Allreduce, osu_allreduce and all_reduce_perf are all_reduce. Any other text comes back as it is.
std::string collective_name(const std::string& text);

/// Adds, without a line in the help, the options of those programs that `bench` does not have. Each is refused by a
/// line that says what takes its place.
void add_foreign_options(CLI::App& command);

}  // namespace shardline::tools
