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

/// Options of every subcommand that runs on a mesh.
struct CommonOptions {
  std::string mesh;            ///< "X=2,Y=4"; empty for X=<ranks>
  std::string dtype = "f32";   ///< the name of one of `dtypes`
  std::optional<int> threads;  ///< of the BLAS per rank
  std::uint64_t seed = 0;
  MachineFlags machine;
  bool memory_check = true;
  std::string json;                                                   ///< file for the record; empty for none
  std::vector<DType> dtypes = {DType::f32, DType::bf16, DType::f64};  ///< the legal ones for this subcommand
};

/// The element type of --dtype. Throws UsageError with the legal types of the subcommand.
DType dtype_of(const CommonOptions& options);

/// The files of --machine and --json.
CommandFiles files_of(const CommonOptions& options);

/// Refuses an empty argument: a shell makes one from an unset variable.
CLI::Validator not_empty();

/// Adds --mesh, --dtype, --threads, --seed and --json. Set `dtypes` before. `options` must outlive
/// the parsing; so must the arguments of the functions below.
void add_common_options(CLI::App& command, CommonOptions& options);
/// Adds --mesh, --threads and --no-memory-check.
void add_mesh_options(CLI::App& command, CommonOptions& options);
CLI::Option* add_dtype_option(CLI::App& command, CommonOptions& options);
void add_json_option(CLI::App& command, CommonOptions& options);
/// Adds --hardware with the help "`purpose` v3, ... or cpu". `name` holds the default.
CLI::Option* add_hardware_option(CLI::App& command, std::string& name, const std::string& purpose);
/// Adds --machine and --other-machine. Returns the first, so that other options can exclude it.
CLI::Option* add_machine_options(CLI::App& command, MachineFlags& flags);
/// Adds --show: the pictures of tools/show.h.
void add_show_option(CLI::App& command, bool& show);
/// Adds --fuse and, for programs of more than one product, --overlap and --prefetch. `prefetched` is the help of the
/// last; empty: of one product.
void add_schedule_options(CLI::App& command, ScheduleFlags& flags, const std::string& prefetched);
/// Adds --trace.
void add_trace_option(CLI::App& command, std::string& path);
/// Adds --report, a page about `what`: "the run".
void add_report_option(CLI::App& command, std::string& path, const std::string& what);

}  // namespace shardline::tools
