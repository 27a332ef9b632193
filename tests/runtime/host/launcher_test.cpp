#include "runtime/host/launcher.h"

#include <gtest/gtest.h>

#include <map>

namespace shardline {
namespace {

using Environment = std::map<std::string, std::string>;

Variables in(const Environment& environment) {
  return [&environment](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
}

LauncherFault fault(const Environment& environment) {
  return launcher_fault("Open MPI v4.1.4, package: Debian", in(environment));
}

TEST(Launcher, EveryLauncherIsNoticedWithBothNumbers) {
  const std::vector<std::pair<Environment, std::string>> cases{
      {{{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}, "started 2 ranks (PMI_SIZE=2), but MPI has 1"},
      {{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}}, "started 4 ranks (OMPI_COMM_WORLD_SIZE=4)"},
      {{{"PMIX_SIZE", "3"}, {"PMIX_RANK", "0"}}, "started 3 ranks (PMIX_SIZE=3)"},
      {{{"MV2_COMM_WORLD_SIZE", "8"}, {"MV2_COMM_WORLD_RANK", "0"}}, "started 8 ranks (MV2_COMM_WORLD_SIZE=8)"},
      {{{"SLURM_STEP_NUM_TASKS", "16"}, {"SLURM_PROCID", "0"}}, "srun started 16 ranks (SLURM_STEP_NUM_TASKS=16)"},
      {{{"PMI_SIZE", "2"}}, "started 2 ranks (PMI_SIZE=2)"},
      {{{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}, {"MPI_LOCALNRANKS", "1"}, {"MPI_LOCALRANKID", "0"}},
       "started 4 ranks (PMI_SIZE=4)"},
      {{{"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "0"}}, "on this node, started 2 ranks (MPI_LOCALNRANKS=2)"},
      {{{"MPIRUN_NPROCS", "2"}, {"MPIRUN_RANK", "0"}}, "mpirun_rsh started 2 ranks (MPIRUN_NPROCS=2)"},
      {{{"JSM_NAMESPACE_SIZE", "6"}, {"JSM_NAMESPACE_RANK", "0"}}, "jsrun started 6 ranks (JSM_NAMESPACE_SIZE=6)"},
      {{{"PALS_RANKID", "1"}}, "mpiexec of PALS started at least 2 ranks (PALS_RANKID=1)"},
      {{{"ALPS_APP_PE", "1"}}, "aprun started at least 2 ranks (ALPS_APP_PE=1)"},
      {{{"FLUX_JOB_SIZE", "4"}, {"FLUX_TASK_RANK", "0"}}, "flux run started 4 ranks (FLUX_JOB_SIZE=4)"},
  };
  for (const auto& [environment, text] : cases) {
    const LauncherFault found = fault(environment);
    EXPECT_NE(found.message.find(text), std::string::npos) << found.message;
    EXPECT_NE(found.message.find(" Open MPI v4.1.4;"), std::string::npos) << found.message;
    EXPECT_NE(found.message.find("--alone"), std::string::npos) << found.message;
    EXPECT_TRUE(found.reports) << found.message;
  }
}

TEST(Launcher, OneProcessReports) {
  EXPECT_FALSE(fault({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}).reports);
  EXPECT_FALSE(fault({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}).message.empty());
}

TEST(Launcher, AProcessNumberOfPmixShowsThatThereAreMore) {
  EXPECT_EQ(fault({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "job"}}).message, "");
  const LauncherFault second = fault({{"PMIX_RANK", "1"}});
  EXPECT_NE(second.message.find("at least 2 ranks (PMIX_RANK=1)"), std::string::npos) << second.message;
  EXPECT_TRUE(second.reports);
  EXPECT_FALSE(fault({{"PMIX_RANK", "2"}}).reports);
}

TEST(Launcher, NoFaultWhereNothingIsWrong) {
  const std::vector<Environment> cases{
      {},
      // A batch script of Slurm runs once for all tasks of its job.
      {{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "1"}},
      // mpirun started its daemons by srun, one on each of four nodes.
      {{"SLURM_STEP_NUM_TASKS", "4"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}},
      {{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
      {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}},
      {{"FLUX_JOB_SIZE", "4"}, {"FLUX_TASK_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
      // Not numbers of ranks.
      {{"PMI_SIZE", ""}},
      {{"PMI_SIZE", "many"}},
      {{"PMI_SIZE", "0"}},
      {{"PMI_SIZE", "99999999999999999999"}},
  };
  for (const Environment& environment : cases) EXPECT_EQ(fault(environment).message, "");
}

TEST(Launcher, AnInteractiveStepOfOneTaskDoesNotSpeakForAnotherLauncher) {
  EXPECT_NE(fault({{"SLURM_STEP_NUM_TASKS", "1"}, {"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}).message, "");
}

TEST(Launcher, TheFirstProcessOfEveryLauncherPrints) {
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID",
                           "MPI_LOCALRANKID", "JSM_NAMESPACE_RANK", "PALS_RANKID", "ALPS_APP_PE", "FLUX_TASK_RANK"}) {
    EXPECT_TRUE(launched_first(in({{rank, "0"}}))) << rank;
    EXPECT_FALSE(launched_first(in({{rank, "1"}}))) << rank;
    EXPECT_TRUE(launched_first(in({{rank, ""}}))) << rank;
    EXPECT_TRUE(launched_first(in({{rank, "first"}}))) << rank;
  }
  EXPECT_TRUE(launched_first(in({})));
  EXPECT_TRUE(launched_first(in({{"OMPI_COMM_WORLD_RANK", "0"}, {"SLURM_PROCID", "1"}})));
}

}  // namespace
}  // namespace shardline
