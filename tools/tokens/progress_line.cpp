#include "tools/tokens/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/trace/clock.h"

namespace shardline::tools {

ProgressLine::ProgressLine(Index all, bool shows)
    : all_(all), shows_(shows && ::isatty(STDERR_FILENO) == 1), begin_(now()) {}

ProgressLine::~ProgressLine() {
  if (shows_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(Index done) {
  if (!shows_ || done == 0) return;
  const Seconds time = now() - begin_;
  const BytesPerSecond rate = Bytes(static_cast<double>(done)) / time;
  const Seconds left = Bytes(static_cast<double>(all_ - done)) / rate;
  std::fputs(fmt::format("\r{:3.0f}%  {} of {}, {}, {} left\033[K",
                         100 * static_cast<double>(done) / static_cast<double>(all_),
                         to_string(Bytes(static_cast<double>(done))), to_string(Bytes(static_cast<double>(all_))),
                         to_string(rate), to_string(left))
                 .c_str(),
             stderr);
}

}  // namespace shardline::tools
