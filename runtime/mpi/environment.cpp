#include "runtime/mpi/environment.h"

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/error.h"

namespace shardline::mpi {
namespace {

/// A rank that threw waits this long for the other ranks to agree. Then it ends the job.
constexpr std::chrono::seconds kAgreementTimeout{5};

/// Time for the launcher to read the last output of a rank. At the end of a job it may drop unread
/// output.
constexpr std::chrono::milliseconds kReadingTime{200};

constexpr int kFailure = 1;
constexpr int kUsage = 2;

/// A UsageError or a ResultError that a rank threw.
struct Ending {
  std::string message;
  int code = 0;
};

/// How all ranks of the job ended their work.
struct Outcome {
  bool all_ended = false;  ///< every rank has an Ending
  int first = 0;           ///< lowest rank with an Ending; the number of ranks if there is none
  int code = 0;            ///< largest code that a rank returned
};

/// Collective over `comm`. A rank that did not throw waits for the others without limit. A rank
/// that threw (`ended`, no `code`) gives up after kAgreementTimeout and returns nothing: some other
/// rank is then surely waiting for it elsewhere.
std::optional<Outcome> agree(const Communicator& comm, bool ended, int code) {
  const std::array<int, 3> mine{ended ? 1 : 0, ended ? comm.rank() : comm.size(), -code};
  std::array<int, 3> least{};
  MPI_Request request = MPI_REQUEST_NULL;
  SHARDLINE_MPI(MPI_Iallreduce(mine.data(), least.data(), 3, MPI_INT, MPI_MIN, comm.get(), &request));
  const auto deadline = std::chrono::steady_clock::now() + kAgreementTimeout;
  int done = 0;
  SHARDLINE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  while (done == 0) {
    if (ended && std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    SHARDLINE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  }
  return Outcome{least[0] == 1, least[1], -least[2]};
}

/// Prints to standard error, if possible.
void complain(const std::string& message) { std::fputs(fmt::format("shardline: {}\n", message).c_str(), stderr); }

[[noreturn]] void end_job(int rank, const std::string& message, int code) {
  complain(fmt::format("rank {}: {}", rank, message));
  std::fflush(stderr);
  std::fflush(stdout);
  std::this_thread::sleep_for(kReadingTime);
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

/// Collective over `comm`: the end of run_guarded(), if the body did not throw another kind of
/// exception.
int conclude(const Communicator& comm, int code, const std::optional<Ending>& ending) {
  const std::optional<Outcome> outcome = agree(comm, ending.has_value(), code);
  if (!outcome) end_job(comm.rank(), ending->message, ending->code);
  if (outcome->first == comm.size()) return outcome->code;
  if (!outcome->all_ended) {
    if (comm.rank() == outcome->first) end_job(comm.rank(), ending->message, ending->code);
    // The first rank that threw prints and ends the job. This rank must not end it before that
    // message.
    std::this_thread::sleep_for(kAgreementTimeout);
    end_job(comm.rank(), fmt::format("rank {} ended the job", outcome->first), kFailure);
  }
  if (comm.rank() == 0) complain(ending->message);
  return ending->code;
}

}  // namespace

Environment::Environment(int* argc, char*** argv) {
  int provided = 0;
  SHARDLINE_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
  SHARDLINE_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  SHARDLINE_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  SHARDLINE_CHECK(provided >= MPI_THREAD_FUNNELED, "this MPI library gives thread level {}, {} (funneled) is needed",
                  provided, MPI_THREAD_FUNNELED);
}

Environment::~Environment() {
  // MPI_Finalize waits for all ranks. A rank that leaves by an exception skips it, and the launcher
  // ends the job.
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

int run_guarded(const std::function<int()>& body) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    const Communicator comm = Communicator::world();
    int code = 0;
    std::optional<Ending> ending;
    try {
      code = body();
    } catch (const UsageError& error) {
      ending = {error.what(), kUsage};
    } catch (const ResultError& error) {
      ending = {error.what(), kFailure};
    }
    return conclude(comm, code, ending);
  } catch (const std::exception& error) {
    end_job(rank, error.what(), kFailure);
  } catch (...) {
    end_job(rank, "an exception of unknown type", kFailure);
  }
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  SHARDLINE_MPI(MPI_Get_library_version(text.data(), &length));
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(std::string_view("\r\n\0", 3)));
}

}  // namespace shardline::mpi

#ifdef __SANITIZE_ADDRESS__
// The address sanitizer reads its options from this function. MPI libraries keep memory until the
// process ends; the sanitizer would report it as leaks. Programs without MPI are still checked for
// leaks.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif
