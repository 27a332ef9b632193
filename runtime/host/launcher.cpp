#include "runtime/host/launcher.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "runtime/base/number.h"

namespace shardline {
namespace {

/// The environment variables of a launcher.
struct Launcher {
  const char* size;  ///< number of processes; null if the launcher does not give it
  const char* rank;  ///< number of this process
  const char* name;
  bool outer = false;  ///< it may have started one of the others; counts only without them
  bool local = false;  ///< it gives the processes of this node; 1 says nothing about other nodes
};

constexpr std::array<Launcher, 11> kLaunchers{{
    {.size = "OMPI_COMM_WORLD_SIZE", .rank = "OMPI_COMM_WORLD_RANK", .name = "Open MPI's mpirun"},
    {.size = "PMIX_SIZE", .rank = "PMIX_RANK", .name = "a PMIx launcher"},
    {.size = "MV2_COMM_WORLD_SIZE", .rank = "MV2_COMM_WORLD_RANK", .name = "MVAPICH2's mpirun"},
    {.size = "PMI_SIZE", .rank = "PMI_RANK", .name = "a PMI launcher (as of MPICH)"},
    {.size = "MPI_LOCALNRANKS", .rank = "MPI_LOCALRANKID", .name = "MPICH's mpirun, on this node,", .local = true},
    {.size = "MPIRUN_NPROCS", .rank = "MPIRUN_RANK", .name = "MVAPICH's mpirun_rsh"},
    {.size = "JSM_NAMESPACE_SIZE", .rank = "JSM_NAMESPACE_RANK", .name = "jsrun"},
    {.size = nullptr, .rank = "PALS_RANKID", .name = "mpiexec of PALS"},
    {.size = nullptr, .rank = "ALPS_APP_PE", .name = "aprun"},
    {.size = "FLUX_JOB_SIZE", .rank = "FLUX_TASK_RANK", .name = "flux run", .outer = true},
    {.size = "SLURM_STEP_NUM_TASKS", .rank = "SLURM_PROCID", .name = "srun", .outer = true},
}};

/// Nothing if the variable is not set or is not a number.
std::optional<int> number(const Variables& variables, const char* name) {
  const char* text = name == nullptr ? nullptr : variables(name);
  return text == nullptr ? std::nullopt : whole_number<int>(text);
}

/// The number of processes that a launcher says it started.
struct Claim {
  const Launcher* launcher = nullptr;
  int ranks = 0;
  std::string text;  ///< "2 ranks (PMI_SIZE=2)"
  bool reports = false;
};

/// Nothing if the launcher says nothing. Some launchers do not give the size. But the number of a
/// process shows that there are at least as many before it. The first process cannot know.
std::optional<Claim> claim_of(const Launcher& launcher, const Variables& variables) {
  const std::optional<int> rank = number(variables, launcher.rank);
  if (const std::optional<int> size = number(variables, launcher.size)) {
    return Claim{&launcher, *size, fmt::format("{} ranks ({}={})", *size, launcher.size, *size), rank.value_or(0) == 0};
  }
  if (rank.value_or(0) < 1) return std::nullopt;
  const int least = *rank + 1;
  return Claim{&launcher, least, fmt::format("at least {} ranks ({}={})", least, launcher.rank, *rank), *rank == 1};
}

}  // namespace

bool launched_first(const Variables& variables) {
  for (const Launcher& launcher : kLaunchers) {
    if (const std::optional<int> rank = number(variables, launcher.rank)) return *rank == 0;
  }
  return true;
}

LauncherFault launcher_fault(const std::string& library, const Variables& variables) {
  std::optional<Claim> most;
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.outer && most) break;
    const std::optional<Claim> claim = claim_of(launcher, variables);
    if (!claim) continue;
    if (claim->ranks == 1 && launcher.local) continue;
    if (claim->ranks == 1) return {};
    if (!most || claim->ranks > most->ranks) most = claim;
  }
  if (!most || most->ranks <= 1) return {};
  const std::string name = library.substr(0, library.find(','));
  return {fmt::format("{} started {}, but MPI has 1: this launcher does not belong to the MPI that shardline uses, {}; "
                      "start shardline with the mpirun of that one, or with --alone to run every process by itself",
                      most->launcher->name, most->text, name),
          most->reports};
}

}  // namespace shardline
