#include "runtime/mpi/error.h"

#include <array>
#include <string>

#include "runtime/base/check.h"

namespace shardline::mpi {
namespace {

/// The rank of this process in the job, as text. MPI may not run: MPI_Init itself can be the failed
/// call.
std::string world_rank() {
  int started = 0;
  int ended = 0;
  int rank = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started == 0 || ended != 0 || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) return "unknown";
  return std::to_string(rank);
}

}  // namespace

void check(int code, const char* call, const char* file, int line) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> words{};
  int length = 0;
  if (MPI_Error_string(code, words.data(), &length) != MPI_SUCCESS) length = 0;
  throw Error(fmt::format("{} failed on rank {} at {}:{}: {} (code {})", call, world_rank(), file, line,
                          std::string(words.data(), static_cast<std::size_t>(length)), code));
}

}  // namespace shardline::mpi
