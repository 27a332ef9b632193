#include "runtime/base/launcher.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "runtime/base/number.h"

namespace shardline {
namespace {

/// The variables of a launcher.
struct Launcher {
  const char* size;  ///< number of processes
  const char* rank;  ///< number of this process
  const char* name;
};

/// Slurm last: it may have started one of the others.
constexpr std::array<Launcher, 5> kLaunchers{{
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"},
    {"PMIX_SIZE", "PMIX_RANK", "a PMIx launcher"},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MVAPICH2's mpirun"},
    {"PMI_SIZE", "PMI_RANK", "a PMI launcher (as of MPICH)"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},
}};

/// Nothing where the variable is not set or is no number.
std::optional<int> number(const Variables& variables, const char* name) {
  const char* text = variables(name);
  return text == nullptr ? std::nullopt : whole_number<int>(text);
}

/// How many processes a launcher says that it has started.
struct Claim {
  const Launcher* launcher = nullptr;
  int ranks = 0;
  std::string text;  ///< "2 ranks (PMI_SIZE=2)"
  bool reports = false;
};

/// Nothing where the launcher says nothing. PMIx need not give the size, but the number of a process shows that there
/// are at least as many before it, of which the first cannot know.
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
    const bool outer = &launcher == &kLaunchers.back();
    if (outer && most) break;
    const std::optional<Claim> claim = claim_of(launcher, variables);
    if (!claim) continue;
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
