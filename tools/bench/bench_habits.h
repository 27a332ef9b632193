#pragma once

#include <string>

namespace CLI {
class App;
}

namespace shardline::tools {

// For users of nccl-tests and of the OSU benchmarks.

/// The library's name of a collective for any common spelling. Capitals, '-' and '_' do not count;
/// "MPI_" or "osu_" may come before it and "_perf" after it; reduce_scatter_block is
/// reduce_scatter. AllReduce, all-reduce, MPI_Allreduce, osu_allreduce and all_reduce_perf are
/// all_reduce. Other text is returned unchanged.
std::string collective_name(const std::string& text);

/// Adds the options of those programs that `bench` does not have, hidden in the help. Each is
/// refused with a line that names the replacement.
void add_foreign_options(CLI::App& command);

}  // namespace shardline::tools
