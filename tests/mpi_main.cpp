// The main function of tests under mpirun. Every rank runs every test. A test passes if it passes on all ranks.
// Rank 0 prints the progress. Each rank prints its own failures with its number in front.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "runtime/mpi/error.h"

namespace shardline {
namespace {

/// A failed rank waits this long for the others to finish the test: they may wait for it in a collective.
constexpr std::chrono::seconds kPatience{5};

/// Prefixes every line of `text` with the rank, so the lines of several failing ranks can be told apart.
std::string with_rank(int rank, const std::string& text) {
  std::string result;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += fmt::format("[rank {}] {}\n", rank, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

void print_with_rank(int rank, const std::string& text) {
  const std::string lines = with_rank(rank, text);
  std::fwrite(lines.data(), 1, lines.size(), stderr);
  std::fflush(stderr);
}

/// Prints failures with their rank and makes the ranks agree on the result of every test. `printer` (on rank 0)
/// shows the progress, but no failures.
class AgreeingListener : public testing::EmptyTestEventListener {
 public:
  AgreeingListener(const mpi::Communicator& comm, std::unique_ptr<testing::TestEventListener> printer)
      : comm_(comm), printer_(std::move(printer)) {}

  void OnTestProgramStart(const testing::UnitTest& unit) override {
    if (printer_) printer_->OnTestProgramStart(unit);
  }
  void OnTestIterationStart(const testing::UnitTest& unit, int iteration) override {
    if (printer_) printer_->OnTestIterationStart(unit, iteration);
  }
  void OnTestSuiteStart(const testing::TestSuite& suite) override {
    if (printer_) printer_->OnTestSuiteStart(suite);
  }
  void OnTestStart(const testing::TestInfo& test) override {
    if (printer_) printer_->OnTestStart(test);
  }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.failed()) {
      const char* file = part.file_name() == nullptr ? "unknown file" : part.file_name();
      print_with_rank(comm_.rank(), fmt::format("{}:{}: Failure\n{}", file, part.line_number(), part.message()));
    } else if (part.skipped() && printer_) {
      printer_->OnTestPartResult(part);
    }
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    const bool failed = test.result()->Failed();
    const std::string others = failing_ranks(failed, test);
    if (!failed && !others.empty()) ADD_FAILURE() << "failed on rank " << others;
    if (printer_) printer_->OnTestEnd(test);
  }
  void OnTestSuiteEnd(const testing::TestSuite& suite) override {
    if (printer_) printer_->OnTestSuiteEnd(suite);
  }
  void OnTestIterationEnd(const testing::UnitTest& unit, int iteration) override {
    if (printer_) printer_->OnTestIterationEnd(unit, iteration);
  }
  void OnTestProgramEnd(const testing::UnitTest& unit) override {
    if (printer_) printer_->OnTestProgramEnd(unit);
  }

 private:
  /// Collective over the job: the ranks on which `test` failed, "0, 2". A failed rank ends the job if the
  /// others do not arrive within kPatience.
  std::string failing_ranks(bool failed, const testing::TestInfo& test) const {
    const int mine = failed ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(comm_.size()));
    MPI_Request request = MPI_REQUEST_NULL;
    SHARDLINE_MPI(MPI_Iallgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm_.get(), &request));
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    int done = 0;
    SHARDLINE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    while (done == 0) {
      if (failed && std::chrono::steady_clock::now() > deadline) give_up(test);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      SHARDLINE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
    std::string ranks;
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (all[r] != 0) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
    }
    return ranks;
  }

  [[noreturn]] void give_up(const testing::TestInfo& test) const {
    print_with_rank(comm_.rank(), fmt::format("failed in {}.{} while other ranks are still in it; ending the job",
                                              test.test_suite_name(), test.name()));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    std::abort();
  }

  const mpi::Communicator& comm_;
  std::unique_ptr<testing::TestEventListener> printer_;
};

int run_tests() {
  const mpi::Communicator comm = mpi::Communicator::world();
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  std::unique_ptr<testing::TestEventListener> printer(listeners.Release(listeners.default_result_printer()));
  if (comm.rank() != 0) {
    printer.reset();
    delete listeners.Release(listeners.default_xml_generator());
  }
  auto owned = std::make_unique<AgreeingListener>(comm, std::move(printer));
  testing::TestEventListener* listener = owned.get();
  listeners.Append(owned.release());
  const int code = RUN_ALL_TESTS();
  delete listeners.Release(listener);
  return static_cast<int>(comm.max(code));
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  return shardline::mpi::run_guarded(shardline::run_tests);
}
