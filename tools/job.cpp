#include "tools/job.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "program/run/multiply.h"
#include "program/run/program_samples.h"
#include "roofline/measure/calibrate.h"
#include "runtime/base/check.h"
#include "runtime/host/files.h"
#include "tools/output/output.h"
#include "tools/version.h"

namespace shardline::tools {
namespace {

AbstractMesh mesh_of(const CommonOptions& options, const mpi::Communicator& world) {
  return options.mesh.empty() ? AbstractMesh({{"X", world.size()}}) : AbstractMesh::parse(options.mesh);
}

/// Collective over all ranks: rank 0 checks the files of the command. Returns the communicator of
/// all ranks.
mpi::Communicator world_with(const CommandFiles& files) {
  mpi::Communicator world = mpi::Communicator::world();
  mpi::on_root(world, 0, [&] {
    check_files(files);
    return std::string();
  });
  return world;
}

/// Collective over `world`: the content of the file of --machine, read by rank 0.
std::optional<GivenMachine> read_machine(const MachineFlags& flags, const mpi::Communicator& world,
                                         const JobMachine& here) {
  if (flags.file.empty()) return std::nullopt;
  const std::string text = mpi::on_root(world, 0, [&] { return read_description(flags.file); });
  return given_machine(flags, text, here.host);
}

/// Collective over `world`: products of this process are by the libraries that the file names. Throws UsageError on
/// every rank if the processors cannot do so for `used`, the type of the run; the library of other types stays then.
void use_libraries(const GivenMachine& given, const mpi::Communicator& world, DType used) {
  for (const auto& [dtype, compute] : given.machine.compute) {
    if (!compute.library) continue;
    const bool suits = dtype == DType::f32 || kernels::suitable_library(dtype) == kernels::GemmLibrary::onednn;
    const bool here = suits || *compute.library == kernels::GemmLibrary::openblas;
    const bool everywhere = world.min(here ? 1 : 0) > 0;
    require(everywhere || dtype != used,
            "--machine {}: products of {} are by oneDNN there; the processors here have no instructions for that",
            given.file, name_of(dtype));
    if (everywhere) kernels::set_gemm_library(dtype, *compute.library);
  }
}

/// Address space that libraries reserve at their first use, mostly untouched. Measured: 131 MB.
constexpr Bytes kReserved{160e6};

/// The memory bounds of this process now. The address space excludes what libraries will reserve.
std::vector<MemoryBound> memory_bounds_left() {
  std::vector<MemoryBound> bounds = memory_bounds();
  for (MemoryBound& bound : bounds) {
    if (bound.name == "ulimit -v") bound.left = std::max(Bytes(0), bound.left - kReserved);
  }
  return bounds;
}

}  // namespace

Json mesh_json(const AbstractMesh& mesh) {
  Json object = Json::object();
  for (const Axis& axis : mesh.axes()) object[axis] = mesh.size(axis);
  return object;
}

Json machine_file_json(const std::optional<GivenMachine>& given, const std::vector<std::string>& differences) {
  if (!given) return nullptr;
  const roofline::Provenance& measured = given->machine.measured;
  const auto known = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"name", given->machine.name},
          {"hash", given->hash},
          {"host", known(measured.host)},
          {"date", known(measured.date)},
          {"differences", differences}};
}

/// Who multiplies in this process, by element type.
Json products_json() {
  Json json = Json::object();
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    json[std::string(name_of(dtype))] = kernels::name_of(kernels::gemm_library(dtype));
  }
  return json;
}

std::string record_text(const Json& record) {
  // A sampled text may not be UTF-8. That must not stop the record.
  return record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Job::Job(const CommonOptions& options, const CommandFiles& files)
    : options_(options),
      dtype_(dtype_of(options)),
      world_(world_with(files)),
      mesh_(mesh_of(options, world_), world_),
      engine_(mesh_),
      machine_(share_machine(world_, options.threads)),
      other_work_(world_),
      given_(read_machine(options.machine, world_, machine_)) {
  if (!given_) return;
  use_libraries(*given_, world_, arithmetic());
  predictions_ = roofline::hardware_of(given_->machine, mesh_.axes(), arithmetic());
  if (given_->machine.tuning) engine_.set_tuning(*given_->machine.tuning);
}

std::vector<std::string> Job::machine_warnings() const {
  return given_ ? machine_differences(*given_, mesh_.axes(), &machine_) : std::vector<std::string>{};
}

roofline::Hardware Job::prices() const { return given_ ? *predictions_ : cpu_hardware(mesh_, arithmetic()); }

const roofline::Hardware& Job::predictions() {
  if (!predictions_) {
    other_work_.begin();
    predictions_ = roofline::measure_briefly(engine_, arithmetic(), program_samples());
    other_work_.end();
  }
  return *predictions_;
}

MemoryNeed Job::with_predictions(const MemoryNeed& need) const {
  constexpr Bytes kProgram{16e6};  // MPI and BLAS take this at their first use; measured: 6 MB
  const Bytes shared = world_.size() > 1 ? roofline::kCalibrationShared : Bytes(0);
  const MemoryNeed before = given_ ? MemoryNeed{} : MemoryNeed{.own = roofline::kBriefMemory, .shared = shared};
  return larger(need, before) + MemoryNeed{.own = kProgram, .shared = Bytes(0)};
}

void Job::require_memory(const std::string& what, const MemoryNeed& need, const MemoryAdvice& advice) const {
  if (!options_.memory_check) return;
  const std::optional<MemoryShortage> found = memory_shortage(world_, with_predictions(need), memory_bounds_left());
  if (!found) return;
  const auto fits = [&](const MemoryNeed& other) { return found->fits(with_predictions(other)); };
  const std::string who = found->per_rank
                              ? "each rank"
                              : fmt::format("the {} rank{} on a node", found->ranks, found->ranks == 1 ? "" : "s");
  usage_error("{} needs {} for {}, but {} leaves {}: {}; --no-memory-check goes on all the same", what,
              to_string(found->needed), who, found->bound, to_string(found->left),
              !fits({}) ? "the command alone needs that much"
              : advice  ? advice(fits)
                        : "more must be free");
}

bool Job::fits(const MemoryNeed& need) const {
  return !memory_shortage(world_, with_predictions(need), memory_bounds_left());
}

void Job::introduce() const {
  note(fmt::format("{} rank{} on {} ({} node{}, {} core{}), mesh {}, {} BLAS thread{} per rank", world_.size(),
                   world_.size() == 1 ? "" : "s", machine_.host, machine_.nodes, machine_.nodes == 1 ? "" : "s",
                   machine_.cores, machine_.cores == 1 ? "" : "s", mesh_.axes().to_string(), machine_.threads_per_rank,
                   machine_.threads_per_rank == 1 ? "" : "s"));
  if (given_) note(fmt::format("figures of machine {}, {}, hash {}", given_->machine.name, given_->file, given_->hash));
  for (const std::string& warning : machine_warnings()) note(warning);
  if (!machine_.timing_fault.empty()) note(fmt::format("timings are not valid: {}", machine_.timing_fault));
}

void Job::print(const std::string& text) const {
  if (root()) tools::print(text);
}

void Job::note(const std::string& text) const {
  if (root()) tools::note(text);
}

Json Job::header(const std::string& schema, const std::string& command) const {
  Json header{{"schema", schema},
              {"command", command},
              {"mesh", mesh_json(mesh_.axes())},
              {"machine",
               {{"host", machine_.host},
                {"nodes", machine_.nodes},
                {"cores", machine_.cores},
                {"ranks_per_node", machine_.ranks_per_node},
                {"threads_per_rank", machine_.threads_per_rank},
                {"blas", machine_.blas},
                {"products", products_json()},
                {"mpi", machine_.mpi},
                {"commit", commit()}}},
              {"machine_file", machine_file_json(given_, machine_warnings())},
              {"dtype", name_of(dtype_)},
              {"seed", options_.seed},
              {"valid_timing", machine_.timing_fault.empty()}};
  if (!machine_.timing_fault.empty()) header["valid_timing_reason"] = machine_.timing_fault;
  const std::optional<OtherWork::Node>& busiest = other_work_.busiest();
  header["busy_with_others"] = busiest ? Json(busiest->share) : Json(nullptr);
  return header;
}

void Job::write_file(const std::string& path, const std::string& text) const {
  if (root()) write_output(path, text);
}

void Job::write_json(const Json& record) const { write_file(options_.json, record_text(record)); }

}  // namespace shardline::tools
