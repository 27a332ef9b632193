#include "tools/output/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "runtime/base/check.h"
#include "runtime/host/files.h"

namespace shardline::tools {
namespace {

/// The state of the output of this process. A process has one standard output.
struct State {
  bool keep_for_a_file = false;
  bool file_lost = false;
  const char* lost_stream = nullptr;  ///< the first of the two that failed
  int print_error = 0;                ///< its errno
  bool told = false;
};

State& state() {
  static State of_process;
  return of_process;
}

/// Keeps the first error of a stream for results.
void put(std::FILE* stream, const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (std::fflush(stream) == 0 && written) return;
  if (state().lost_stream != nullptr) return;
  state().lost_stream = stream == stdout ? "standard output" : "standard error";
  state().print_error = errno == 0 ? EIO : errno;
}

}  // namespace

void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // open() returns the lowest free number: this one. It opens for the wrong direction, so every
    // use fails.
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void keep_standard_output_for_a_file() { state().keep_for_a_file = true; }

void print(const std::string& text) { put(state().keep_for_a_file ? stderr : stdout, text); }

void note(const std::string& text) { std::fputs(fmt::format("shardline: {}\n", text).c_str(), stderr); }

void write_output(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  if (path == kStandardOutput) return put(stdout, text);
  try {
    write_whole_file(path, text);
  } catch (const Error& error) {
    note(error.what());
    state().file_lost = true;
  }
}

bool all_is_written() {
  State& all = state();
  if (all.lost_stream != nullptr && !all.told) {
    note(fmt::format("{} cannot be written: {}", all.lost_stream, std::generic_category().message(all.print_error)));
    all.told = true;
  }
  return all.lost_stream == nullptr && !all.file_lost;
}

}  // namespace shardline::tools
