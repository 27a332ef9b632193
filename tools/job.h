#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "roofline/price/hardware.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/other_work.h"
#include "tools/job_machine.h"
#include "tools/options/common_options.h"
#include "tools/output/memory_check.h"
#include "tools/output/output_files.h"

namespace shardline::tools {

/// Keeps keys in the order of insertion, and so the order of mesh axes. Only files that make or
/// read records include <nlohmann/json.hpp>, which is slow to compile.
using Json = nlohmann::ordered_json;

/// {"X": 2}
Json mesh_json(const AbstractMesh& mesh);
/// {"name", "hash", "host", "date", "differences"}; null for none.
Json machine_file_json(const std::optional<GivenMachine>& given, const std::vector<std::string>& differences);
/// The text of a record in its file.
std::string record_text(const Json& record);

/// The ranks of one subcommand: world communicator, mesh, engine, threads and the record of the
/// run.
class Job {
 public:
  /// Collective over all ranks. Throws UsageError on all ranks. First as check_files() does for
  /// `files`, which start with files_of(`options`). Then if the product of the mesh axes is not the
  /// number of ranks, if the dtype is unknown, or if the file of --machine cannot be read, is of
  /// another host, or lacks figures of the dtype or the link of an axis.
  Job(const CommonOptions& options, const CommandFiles& files);

  /// True on the rank that prints.
  bool root() const { return world_.rank() == 0; }
  const mpi::Communicator& world() const { return world_; }
  const Mesh& mesh() const { return mesh_; }
  collectives::Engine& engine() { return engine_; }
  DType dtype() const { return dtype_; }
  std::uint64_t seed() const { return options_.seed; }
  const JobMachine& machine() const { return machine_; }
  /// The machine of --machine.
  const std::optional<GivenMachine>& given_machine() const { return given_; }
  /// The differences between this run and the run that measured the machine of --machine, one
  /// sentence each.
  std::vector<std::string> machine_warnings() const;
  /// Collective over all ranks: the prices that choose and schedule programs. They are those of
  /// --machine, else built-in ones. They never come from a measurement of this run.
  roofline::Hardware prices() const;
  /// Collective over all ranks: the figures that predict times. They are those of --machine, else
  /// those of a short measurement in the first call.
  const roofline::Hardware& predictions();
  /// Measures the share of the cores that other work took. Every shown measurement begins and ends
  /// a period here.
  OtherWork& other_work() { return other_work_; }

  /// Says what would fit, if asked. `fits(need)` tells whether ranks that each take `need` would
  /// fit.
  using MemoryAdvice = std::function<std::string(const std::function<bool(const MemoryNeed&)>& fits)>;
  /// Collective over all ranks. Call it before memory is taken. Throws UsageError on all ranks
  /// unless every rank can have `need` now, plus the memory of the program itself and of
  /// predictions(). The message is "`what` needs ...", then `advice`. Does nothing under
  /// --no-memory-check.
  void require_memory(const std::string& what, const MemoryNeed& need, const MemoryAdvice& advice = {}) const;

  /// Collective over all ranks: true if require_memory() would take `need`. It looks under --no-memory-check too.
  bool fits(const MemoryNeed& need) const;

  /// Tells on standard error how the machine is shared. Called once all arguments are known to be
  /// good.
  void introduce() const;
  /// Prints results from rank 0, as print() of tools/output/output.h does.
  void print(const std::string& text) const;
  /// Prints a line from rank 0 to standard error, for progress and remarks. They are not results.
  void note(const std::string& text) const;

  /// The first keys of every record: schema ("shardline.matmul/1"), command, mesh, machine,
  /// valid_timing, busy_with_others.
  Json header(const std::string& schema, const std::string& command) const;
  /// Writes rank 0's `text` to the file as write_output() does. An empty path means no file.
  void write_file(const std::string& path, const std::string& text) const;
  /// Writes rank 0's record to the file of --json, if there is one.
  void write_json(const Json& record) const;

 private:
  /// `need` plus the program itself; the memory of predictions() comes before it.
  MemoryNeed with_predictions(const MemoryNeed& need) const;
  /// The type whose figures predict. Nothing is computed in integers.
  DType arithmetic() const { return is_integer(dtype_) ? DType::f32 : dtype_; }

  CommonOptions options_;
  DType dtype_;
  mpi::Communicator world_;
  Mesh mesh_;
  collectives::Engine engine_;
  JobMachine machine_;
  OtherWork other_work_;
  std::optional<GivenMachine> given_;
  std::optional<roofline::Hardware> predictions_;
};

}  // namespace shardline::tools
