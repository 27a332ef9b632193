#include "runtime/base/check.h"

namespace shardline::detail {

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw Error(fmt::format("{} ({} is false at {}:{})", message, condition, file, line));
}

}  // namespace shardline::detail
