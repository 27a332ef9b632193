#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "tools/command.h"
#include "tools/options/machine_option.h"
#include "tools/options/schedule_options.h"
#include "tools/output/output_files.h"

namespace shardline::tools {

/// Options that every subcommand running on a mesh takes.
struct CommonOptions {
  std::string mesh;            ///< "X=2,Y=4"; empty for X=<ranks>
  std::string dtype = "f32";   ///< the name of one of `dtypes`
  std::optional<int> threads;  ///< of the BLAS per rank
  std::uint64_t seed = 0;
  MachineFlags machine;
  bool memory_check = true;
  std::string json;                                                   ///< file for the record; empty for none
  std::vector<DType> dtypes = {DType::f32, DType::bf16, DType::f64};  ///< those that the subcommand takes
};

/// The element type of --dtype; throws UsageError that lists those the subcommand takes.
DType dtype_of(const CommonOptions& options);

/// The files of --machine and --json.
CommandFiles files_of(const CommonOptions& options);

/// Refuses an empty argument, which a shell makes of a variable that is not set.
CLI::Validator not_empty();

/// Adds --mesh, --dtype, --threads, --seed and --json. `options` must outlive the parsing; its `dtypes` are set before.
/// What the functions below are given must outlive the parsing too.
void add_common_options(CLI::App& command, CommonOptions& options);
/// Adds --mesh, --threads and --no-memory-check.
void add_mesh_options(CLI::App& command, CommonOptions& options);
CLI::Option* add_dtype_option(CLI::App& command, CommonOptions& options);
void add_json_option(CLI::App& command, CommonOptions& options);
/// --hardware, described as "`purpose` v3, ... or cpu"; `name` holds the default.
CLI::Option* add_hardware_option(CLI::App& command, std::string& name, const std::string& purpose);
/// Adds --machine and --other-machine. Returns the first, for what it excludes.
CLI::Option* add_machine_options(CLI::App& command, MachineFlags& flags);
/// Adds --show: the pictures of tools/show.h.
void add_show_option(CLI::App& command, bool& show);
/// Adds --fuse and, for programs of more than one product, --overlap and --prefetch.
void add_schedule_options(CLI::App& command, ScheduleFlags& flags, bool of_training);
/// Adds --trace.
void add_trace_option(CLI::App& command, std::string& path);
/// Adds --report, a page about `what`: "the run".
void add_report_option(CLI::App& command, std::string& path, const std::string& what);

}  // namespace shardline::tools
