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
#include "tools/machine.h"
#include "tools/options/common_options.h"
#include "tools/output/memory_check.h"
#include "tools/output/output_files.h"

namespace shardline::tools {

/// Keeps keys in the order in which they were set, and with it the order of mesh axes. Only files that make or read
/// records include <nlohmann/json.hpp>, which is slow to compile.
using Json = nlohmann::ordered_json;

/// {"X": 2}
Json mesh_json(const AbstractMesh& mesh);
/// {"name", "hash", "host", "date", "differences"}; null for none.
Json machine_file_json(const std::optional<GivenMachine>& given, const std::vector<std::string>& differences);
/// A record as it stands in its file.
std::string record_text(const Json& record);

/// The ranks at work on one subcommand: world communicator, mesh, engine, threads and the record of the run.
class Job {
 public:
  /// Collective over all ranks. Throws UsageError, on all ranks, first as check_files() does, of `files` that start
  /// with files_of(`options`); then when the axes of the mesh do not multiply to the number of ranks, on an unknown
  /// dtype, and when the file of --machine cannot be read, is of another host, or lacks figures of the dtype or the
  /// link of an axis.
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
  /// By which this run differs from the one that measured the machine of --machine, a sentence each.
  std::vector<std::string> machine_warnings() const;
  /// Collective over all ranks: the prices by which programs for them are chosen and scheduled: those of --machine,
  /// otherwise built-in ones. They come from no measurement of this run.
  roofline::Hardware prices() const;
  /// Collective over all ranks: what times are predicted by: the figures of --machine, otherwise those of a short
  /// measurement, made when this is first called.
  const roofline::Hardware& predictions();
  /// How much of the cores went to other work meanwhile. Whatever measures what is shown begins and ends a stretch.
  OtherWork& other_work() { return other_work_; }

  /// Says what would fit, if asked: `fits(need)` tells whether ranks that each take `need` would.
  using MemoryAdvice = std::function<std::string(const std::function<bool(const MemoryNeed&)>& fits)>;
  /// Collective over all ranks, to be called before memory is taken: throws UsageError on all ranks unless every rank
  /// can have `need` now, and beside it what the program itself and predictions() take. "`what` needs ..." is followed
  /// by `advice`. Nothing under --no-memory-check.
  void require_memory(const std::string& what, const MemoryNeed& need, const MemoryAdvice& advice = {}) const;

  /// Says on standard error how the machine is shared; for when all arguments are known to be good.
  void introduce() const;
  /// Prints results from rank 0, as print() of tools/output/output.h does.
  void print(const std::string& text) const;
  /// Prints a line to standard error from rank 0: progress and remarks, which are no results.
  void note(const std::string& text) const;

  /// The keys that every record starts with: schema ("shardline.matmul/1"), command, mesh, machine, valid_timing,
  /// busy_with_others.
  Json header(const std::string& schema, const std::string& command) const;
  /// Writes rank 0's `text` to the file as write_output() does; an empty path stands for no file.
  void write_file(const std::string& path, const std::string& text) const;
  /// Writes rank 0's record to the file of --json; nothing when there is none.
  void write_json(const Json& record) const;

 private:
  /// `need` with what the program itself takes, and predictions() before.
  MemoryNeed with_predictions(const MemoryNeed& need) const;
  /// The element type that is computed in: bf16 is for storage, and of integers nothing is computed.
  DType arithmetic() const { return dtype_ == DType::f64 ? DType::f64 : DType::f32; }

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
