#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace shardline {

/// A fault at run time: a broken contract, a failed MPI call, a wrong result. It ends the whole
/// job.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller gave something illegal. The message is one line: what was given, and what is legal.
/// The command ends with exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

namespace detail {
/// Throws Error with the place, the failed condition and the message.
[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& message);
}  // namespace detail

/// Throws UsageError with a formatted message.
template <class... Args>
[[noreturn]] void usage_error(fmt::format_string<Args...> text, Args&&... args) {
  throw UsageError(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws UsageError with a formatted message unless `ok`.
template <class... Args>
void require(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) throw UsageError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace shardline

/// Checked in every build. Throws shardline::Error with the place and the message, which should
/// show the values.
#define SHARDLINE_CHECK(condition, ...)                                                                            \
  do {                                                                                                             \
    if (!(condition)) ::shardline::detail::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)

/// Checked in debug builds only: for conditions inside inner loops.
#ifdef NDEBUG
#define SHARDLINE_DEBUG_CHECK(condition, ...) \
  do {                                        \
  } while (false)
#else
#define SHARDLINE_DEBUG_CHECK(condition, ...) SHARDLINE_CHECK(condition, __VA_ARGS__)
#endif
