#include "tools/job_machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstring>
#include <ctime>
#include <fstream>

#include "kernels/gemm/gemm.h"
#include "runtime/base/check.h"
#include "runtime/mpi/cores.h"
#include "runtime/mpi/environment.h"
#include "tools/output/memory_check.h"

namespace shardline::tools {
namespace {

/// The argument for a shell: in single quotes if it has special characters.
std::string for_a_shell(const std::string& argument) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_@%+=:,./-", c) != nullptr;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) return argument;
  std::string text = "'";
  for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Replicas have equal bits only if all ranks multiply by the same library.
void agree_on_libraries(const mpi::Communicator& world) {
  using enum kernels::GemmLibrary;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const bool suits = kernels::suitable_library(dtype) == onednn;
    kernels::set_gemm_library(dtype, world.min(suits ? 1 : 0) > 0 ? onednn : openblas);
  }
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string line;
  for (std::string argument; std::getline(file, argument, '\0');)
    line += (line.empty() ? "" : " ") + for_a_shell(argument);
  return line;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

JobMachine share_machine(const mpi::Communicator& world, std::optional<int> threads) {
  const mpi::Communicator node = world.split_by_node();
  const int cores = mpi::cores_of(node);
  constexpr int kThreadsPerCore = 4;  // more is useless: each thread costs memory of the BLAS and time of the kernel
  const int most = kThreadsPerCore * static_cast<int>(world.min(cores));
  require(!threads || *threads <= most, "--threads {}: at most {}, {} for each core of a node", threads.value_or(0),
          most, kThreadsPerCore);
  JobMachine machine;
  machine.threads_per_rank = threads ? *threads : static_cast<int>(world.min(std::max(1, cores / node.size())));
  kernels::set_blas_threads(machine.threads_per_rank);
  agree_on_libraries(world);
  // Every rank describes the node of rank 0. A node with too many ranks counts wherever it is.
  machine.cores = static_cast<int>(world.all_gather(cores)[0]);
  machine.ranks_per_node = static_cast<int>(world.all_gather(node.size())[0]);
  machine.nodes = static_cast<int>(world.sum(node.rank() == 0 ? 1 : 0));
  machine.memory_per_rank = memory_limit_of_a_rank(world, memory_bounds());
  machine.host = world.broadcast(host_name(), 0);
  machine.blas = world.broadcast(kernels::blas_description(), 0);
  machine.mpi = mpi::library_version();
  if (world.max(node.size() * machine.threads_per_rank > cores ? 1 : 0) > 0) {
    machine.timing_fault = fmt::format("{} ranks of {} thread{} share {} core{} of a node", machine.ranks_per_node,
                                       machine.threads_per_rank, machine.threads_per_rank == 1 ? "" : "s",
                                       machine.cores, machine.cores == 1 ? "" : "s");
  }
  return machine;
}

}  // namespace shardline::tools
