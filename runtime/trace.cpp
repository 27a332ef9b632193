#include "runtime/trace.h"

#include <chrono>

namespace shardline {

Seconds now() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace shardline
